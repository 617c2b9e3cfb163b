/* SPDX-License-Identifier: MIT */
#include "scan_reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "rankwatch/operation.h"

const uint8_t scan_dtypes[SCAN_DTYPES] = { RW_DTYPE_UNKNOWN,    RW_DTYPE_INT8,     RW_DTYPE_UINT8,
					   RW_DTYPE_INT32,      RW_DTYPE_UINT32,   RW_DTYPE_INT64,
					   RW_DTYPE_UINT64,     RW_DTYPE_FLOAT16,  RW_DTYPE_FLOAT32,
					   RW_DTYPE_FLOAT64,    RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT8_E4M3,
					   RW_DTYPE_FLOAT8_E5M2 };

size_t reference_width(uint8_t dtype)
{
	static const size_t widths[RW_DTYPE_COUNT] = {
		[RW_DTYPE_INT32] = 4,   [RW_DTYPE_UINT32] = 4,  [RW_DTYPE_INT64] = 8,   [RW_DTYPE_UINT64] = 8,
		[RW_DTYPE_FLOAT16] = 2, [RW_DTYPE_FLOAT32] = 4, [RW_DTYPE_FLOAT64] = 8, [RW_DTYPE_BFLOAT16] = 2,
	};

	return widths[dtype] ? widths[dtype] : 1;
}

int reference_is_float(uint8_t dtype)
{
	return dtype >= RW_DTYPE_FLOAT16;
}

double reference_end_of_range(uint8_t dtype)
{
	static const double ends[RW_DTYPE_COUNT] = {
		[RW_DTYPE_FLOAT16] = 65504,       [RW_DTYPE_FLOAT32] = FLT_MAX, [RW_DTYPE_FLOAT64] = DBL_MAX,
		[RW_DTYPE_BFLOAT16] = 0x1.fep127, [RW_DTYPE_FLOAT8_E4M3] = 448, [RW_DTYPE_FLOAT8_E5M2] = 57344
	};

	return ends[dtype];
}

static double small_value(uint64_t bits, int exponent_bits, int fraction_bits)
{
	const int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
	const int fraction = (int)bits & ((1 << fraction_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
	const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

	if (exponent == 0)
		return sign * ldexp(fraction, 1 - bias - fraction_bits);
	if (exponent == (1 << exponent_bits) - 1)
		return fraction ? NAN : sign * INFINITY;
	return sign * ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

/* Its largest exponent is one like the others; only its last value is none. */
static double e4m3_value(uint64_t bits)
{
	const double sign = bits & 0x80 ? -1 : 1;

	if ((bits & 0x7f) == 0x7f)
		return NAN;
	if ((bits & 0x78) == 0x78)
		return sign * ldexp((double)(8 + (bits & 7)), 15 - 7 - 3);
	return small_value(bits, 4, 3);
}

double reference_value(uint8_t dtype, uint64_t bits)
{
	const uint32_t bits32 = (uint32_t)bits;
	double value;
	float single;

	switch (dtype) {
	case RW_DTYPE_FLOAT16:
		return small_value(bits, 5, 10);
	case RW_DTYPE_BFLOAT16:
		return small_value(bits, 8, 7);
	case RW_DTYPE_FLOAT8_E4M3:
		return e4m3_value(bits);
	case RW_DTYPE_FLOAT8_E5M2:
		return small_value(bits, 5, 2);
	case RW_DTYPE_FLOAT32:
		memcpy(&single, &bits32, sizeof(single));
		return single;
	default:
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
}

static void take_value(uint8_t dtype, double value, uint64_t index, double *largest, struct scan_result *result)
{
	result->nan += isnan(value) != 0;
	result->inf += isinf(value) != 0;
	if (!isfinite(value)) {
		if (result->first_bad == SCAN_NO_INDEX)
			result->first_bad = index;
		return;
	}
	if (reference_width(dtype) == 1 && fabs(value) == reference_end_of_range(dtype))
		result->saturated++;
	*largest = fmax(*largest, fabs(value));
}

static void take_word(uint64_t index, uint32_t word, struct scan_result *result)
{
	static const uint64_t factors[] = { SCAN_LANE_FACTOR_0, SCAN_LANE_FACTOR_1, SCAN_LANE_FACTOR_2,
					    SCAN_LANE_FACTOR_3 };

	result->digest += factors[index % 4] * (2 * (index / 4) + 1) * word;
	result->lane_sum += factors[index % 4] * word;
}

void reference_scan(uint8_t dtype, uint8_t flags, const void *at, uint64_t elements, struct scan_result *result)
{
	const size_t width = reference_width(dtype);
	const uint64_t bytes = elements * width;
	double largest = 0;

	*result = (struct scan_result){ .first_bad = SCAN_NO_INDEX, .digest = SCAN_LENGTH_FACTOR * bytes };
	for (uint64_t i = 0; i * 4 < bytes; i++) {
		uint32_t word = 0;
		memcpy(&word, (const char *)at + i * 4, bytes - i * 4 < 4 ? bytes - i * 4 : 4);
		take_word(i, word, result);
	}
	for (uint64_t i = 0; reference_is_float(dtype) && !(flags & SCAN_DIGEST_ONLY) && i < elements; i++) {
		uint64_t bits = 0;
		memcpy(&bits, (const char *)at + i * width, width);
		take_value(dtype, reference_value(dtype, bits), i, &largest, result);
	}
	result->absmax = (float)fmin(largest, FLT_MAX);
}
