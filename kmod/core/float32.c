// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * IEEE-754 binary32 addition in integers: round to nearest even, with
 * subnormals, infinities and NaN. The kernel has no FPU for us. There are few
 * branches on purpose: the numbers decide them, so they could not be foreseen.
 */
#include "internal.h"

#define SIGN 0x80000000U
#define INFINITE 0x7f800000U
#define QUIET 0x00400000U
#define HIDDEN 0x00800000U
#define FRACTION (HIDDEN - 1)
#define GUARD 4 /* bits kept below the last place; the lowest one is sticky */

static uint32_t exponent_of(uint32_t x)
{
	uint32_t exponent = (x >> 23) & 0xff;

	return exponent ? exponent : 1; /* a subnormal has the least exponent, without HIDDEN */
}

static uint32_t significand_of(uint32_t x)
{
	return ((x & FRACTION) | (x & INFINITE ? HIDDEN : 0)) << GUARD;
}

/* Shift right; what falls out stays visible in the lowest bit. `x` is below 2^31. */
static uint32_t shift_sticky(uint32_t x, uint32_t by)
{
	uint32_t shifted;

	by = by < 31 ? by : 31;
	shifted = x >> by;
	return shifted | (shifted << by != x);
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
	bool swap = (a & ~SIGN) < (b & ~SIGN);
	uint32_t big = swap ? b : a, small = swap ? a : b;
	uint32_t exponent = exponent_of(big), sum, addend, shift, rounding, result;

	if ((big & INFINITE) == INFINITE)
		return add_special(a, b);
	addend = shift_sticky(significand_of(small), exponent - exponent_of(small));
	sum = significand_of(big) + ((a ^ b) & SIGN ? 0U - addend : addend);
	if (!sum)
		return a & b & SIGN; /* only -0 + -0 is -0 */

	/* Bring the leading one to bit 28, as after a carry; subnormals stay below it. */
	shift = (uint32_t)__builtin_clz(sum) - 3;
	shift = shift < exponent ? shift : exponent;
	exponent += 1 - shift;
	sum <<= shift;

	/* To nearest, ties to even: a carry out of the fraction adds to the exponent. */
	rounding = (1U << GUARD) - 1 + ((sum >> (GUARD + 1)) & 1);
	result = ((exponent - 1) << 23) + ((sum + rounding) >> (GUARD + 1));
	return (big & SIGN) | (result < INFINITE ? result : INFINITE);
}
