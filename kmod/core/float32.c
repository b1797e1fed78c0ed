// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * IEEE-754 binary32 addition in integers: round to nearest even, with
 * subnormals, infinities and NaN. The kernel has no FPU for us.
 */
#include "internal.h"

#define SIGN 0x80000000U
#define INFINITE 0x7f800000U
#define QUIET 0x00400000U
#define HIDDEN 0x00800000U
#define FRACTION (HIDDEN - 1)
#define GUARD 3 /* bits kept below the last place: guard, round, sticky */

static uint32_t exponent_of(uint32_t x)
{
	uint32_t exponent = (x >> 23) & 0xff;

	return exponent ? exponent : 1; /* a subnormal has the least exponent, without HIDDEN */
}

static uint32_t significand_of(uint32_t x)
{
	uint32_t significand = x & FRACTION;

	if (x & INFINITE)
		significand |= HIDDEN;
	return significand << GUARD;
}

/* Shift right; what falls out stays visible in the lowest bit. */
static uint32_t shift_sticky(uint32_t x, uint32_t by)
{
	if (by >= 31)
		return x != 0;
	return (x >> by) | ((x & ((1U << by) - 1)) != 0);
}

/* `significand` has GUARD extra bits and is below HIDDEN << (GUARD + 1). */
static uint32_t pack(uint32_t sign, uint32_t exponent, uint32_t significand)
{
	uint32_t rest = significand & ((1U << GUARD) - 1);
	uint32_t half = 1U << (GUARD - 1);
	uint32_t result;

	significand >>= GUARD;
	if (rest > half || (rest == half && (significand & 1)))
		significand++;
	/* HIDDEN adds one to the exponent field, as does a carry out of the rounding. */
	result = ((exponent - 1) << 23) + significand;
	if (result >= INFINITE)
		result = INFINITE;
	return sign | result;
}

static uint32_t add_special(uint32_t a, uint32_t b)
{
	if ((a & ~SIGN) > INFINITE)
		return a | QUIET;
	if ((b & ~SIGN) > INFINITE)
		return b | QUIET;
	if ((a & ~SIGN) == INFINITE && (b & ~SIGN) == INFINITE && a != b)
		return INFINITE | QUIET;
	return (a & ~SIGN) == INFINITE ? a : b;
}

uint32_t fgpu_float32_add(uint32_t a, uint32_t b)
{
	uint32_t exponent, difference, big, small, shift;

	if ((a & INFINITE) == INFINITE || (b & INFINITE) == INFINITE)
		return add_special(a, b);
	if ((a & ~SIGN) < (b & ~SIGN)) {
		big = a;
		a = b;
		b = big;
	}
	exponent = exponent_of(a);
	difference = exponent - exponent_of(b);
	big = significand_of(a);
	small = shift_sticky(significand_of(b), difference);

	if (!((a ^ b) & SIGN)) {
		big += small;
		if (big >= HIDDEN << (GUARD + 1)) {
			big = shift_sticky(big, 1);
			exponent++;
		}
		return pack(a & SIGN, exponent, big);
	}
	big -= small;
	if (!big)
		return 0; /* x - x is +0; -0 + -0 went the other way */
	shift = (uint32_t)__builtin_clz(big) - (31 - 23 - GUARD);
	if (shift >= exponent)
		shift = exponent - 1;
	return pack(a & SIGN, exponent - shift, big << shift);
}
