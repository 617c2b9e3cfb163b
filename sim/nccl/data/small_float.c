/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sim/nccl/data/number.h"

#define FLOAT_MANTISSA_BITS 23
#define FLOAT_BIAS          127

const struct small_float small_float16 = { 10, -14, 0x7bff, 0x7c00, 0x7e00, 0x8000 };
const struct small_float small_bfloat16 = { 7, -126, 0x7f7f, 0x7f80, 0x7fc0, 0x8000 };
const struct small_float small_e4m3 = { 3, -6, 0x7e, 0, 0x7f, 0x80 };
const struct small_float small_e5m2 = { 2, -14, 0x7b, 0x7c, 0x7f, 0x80 };

static float float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

float small_float_decode(uint32_t bits, const struct small_float *format)
{
	uint32_t sign = bits & format->sign ? 0x80000000u : 0;
	uint32_t magnitude = bits & (format->sign - 1);
	uint32_t shift = FLOAT_MANTISSA_BITS - format->mantissa_bits;

	if (magnitude > format->largest)
		return float_from_bits(sign | (magnitude == format->infinity ? 0x7f800000u : 0x7fc00000u));
	if (magnitude >> format->mantissa_bits) {
		/* The stored exponent 1 is least_exponent. */
		uint32_t bias = (uint32_t)(format->least_exponent - 1 + FLOAT_BIAS);
		return float_from_bits(sign | ((magnitude << shift) + (bias << FLOAT_MANTISSA_BITS)));
	}
	/* Subnormal: the mantissa times the step of the smallest normal numbers; exact in float. */
	double step = 1.0;
	for (int32_t e = format->least_exponent - (int32_t)format->mantissa_bits; e < 0; e++)
		step /= 2;
	double value = (double)magnitude * step;
	return (float)(sign ? -value : value);
}

static uint32_t round_shift(uint32_t mantissa, uint32_t shift)
{
	if (shift > FLOAT_MANTISSA_BITS + 2)
		return 0;
	uint32_t kept = mantissa >> shift;
	uint32_t rest = mantissa & ((1u << shift) - 1);
	uint32_t half = 1u << (shift - 1);
	return kept + (rest > half || (rest == half && (kept & 1)));
}

uint32_t small_float_encode(float value, const struct small_float *format)
{
	uint32_t bits = bits_from_float(value);
	uint32_t sign = bits & 0x80000000u ? format->sign : 0;
	uint32_t exponent = bits >> FLOAT_MANTISSA_BITS & 0xff;
	uint32_t mantissa = bits & 0x7fffff;
	uint32_t overflow = format->infinity ? format->infinity : format->largest;
	uint32_t shift = FLOAT_MANTISSA_BITS - format->mantissa_bits;
	uint32_t result;

	if (exponent == 0xff)
		return sign | (mantissa ? format->nan : overflow);
	if (exponent)
		mantissa |= 0x800000;
	else
		exponent = 1;
	int32_t above = (int32_t)exponent - FLOAT_BIAS - format->least_exponent;
	if (above >= 0) /* the mantissa's leading one adds 1 to the exponent field; so may rounding */
		result = ((uint32_t)above << format->mantissa_bits) + round_shift(mantissa, shift);
	else
		result = round_shift(mantissa, shift + (uint32_t)-above);
	if (result <= format->largest)
		return sign | result;
	/* e5m2 has an infinity, but a finite value that is too large saturates there, too. */
	return sign | (format->sign == 0x80 ? format->largest : overflow);
}
