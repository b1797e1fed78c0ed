// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The integer adder against the machine's own, bit by bit.
 */
#include "../../kmod/core/internal.h"

#include "harness.h"

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

static void check(uint32_t a, uint32_t b)
{
	volatile float x = float_of(a), y = float_of(b);
	uint32_t wanted = bits_of(x + y), got = fgpu_float32_add(a, b);

	if (got != wanted && !(is_nan(got) && is_nan(wanted)))
		fail(__FILE__, __LINE__, "%08x + %08x is %08x, not %08x", a, b, got, wanted);
}

static const uint32_t corners[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
	0x80800000, 0x00800001, 0x00ffffff, 0x01000000, 0x33800000, 0x33800001, 0x34000000,
	0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001, 0xbf7fffff,
	0x4b000000, 0x4b7fffff, 0x4b800000, 0xcb800000, 0x7e7fffff, 0x7effffff, 0x7f000000,
	0xff000000, 0x7f7ffffe, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001,
	0x7fc00000, 0xffc00001, 0x7fffffff, 0x73800000, 0x73000000, 0xf3000001,
};

static void corners_add_as_the_fpu_does(void)
{
	const size_t count = sizeof(corners) / sizeof(corners[0]);
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++)
			check(corners[i], corners[j]);
}

static uint64_t state = 88172645463325252ULL;

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void random_pairs_add_as_the_fpu_does(void)
{
	uint64_t x;
	long i;

	for (i = 0; i < 4000000 && !failed(); i++) {
		x = random_bits();
		check((uint32_t)x, (uint32_t)(x >> 32));
	}
}

/* Exponents close together and the low end: cancellation, subnormals, ties. */
static void close_pairs_add_as_the_fpu_does(void)
{
	uint32_t a, b, exponent;
	uint64_t x;
	long i;

	for (i = 0; i < 4000000 && !failed(); i++) {
		x = random_bits();
		a = (uint32_t)x & 0x807fffff;
		b = (uint32_t)(x >> 32) & 0x807fffff;
		if (i & 1)
			b &= 0xfffff000; /* many trailing zeros make ties */
		exponent = (uint32_t)(random_bits() % 256);
		if (i & 2)
			exponent %= 4;
		a |= exponent << 23;
		exponent += (uint32_t)(random_bits() % 28);
		b |= (exponent > 255 ? 255 : exponent) << 23;
		check(a, b);
		check(b, a);
		check(a, a ^ 0x80000001);
	}
}

SUITE(test_float32, TEST(corners_add_as_the_fpu_does), TEST(random_pairs_add_as_the_fpu_does),
      TEST(close_pairs_add_as_the_fpu_does));
