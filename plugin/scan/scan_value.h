/* SPDX-License-Identifier: MIT */
/*
 * What a value of each data type is: finite, infinite, not a number, at the end of its range, and how large. The one
 * place that knows: read by device code (scan.cu), by its twin on CPUs and by tests. A value without its sign bit is
 * its magnitude; for every type here magnitudes have the order of the values, then infinity, then NaN.
 *
 * Layouts: IEEE 754 (fp16, fp32, fp64), bfloat16, and the OCP 8-bit formats: e5m2 as IEEE would have it, e4m3 without
 * infinity, its NaN only 0x7f and 0xff.
 */
#ifndef PLUGIN_SCAN_SCAN_VALUE_H
#define PLUGIN_SCAN_SCAN_VALUE_H

#include <stdint.h>
#include <string.h>

#include "rankwatch/operation.h"

#ifdef __CUDACC__
#define SCAN_INLINE static __host__ __device__ __forceinline__
#else
#define SCAN_INLINE static inline __attribute__((always_inline))
#endif

struct scan_format {
	uint32_t width;    /* of an element in bits: 8, 16, 32 or 64 */
	uint32_t fraction; /* bits of the fraction; 0: not a floating type */
	uint64_t bad;      /* smallest magnitude that is not finite; the one before it is the end of the range */
	uint64_t nan;      /* smallest magnitude that is not a number */
};

enum scan_class { SCAN_FINITE, SCAN_INF, SCAN_NAN };

/* dtype: enum rw_dtype; what is not known counts as bytes. */
SCAN_INLINE struct scan_format scan_format_of(uint32_t dtype)
{
	switch (dtype) {
	case RW_DTYPE_FLOAT16:
		return (struct scan_format){ 16, 10, 0x7c00, 0x7c01 };
	case RW_DTYPE_BFLOAT16:
		return (struct scan_format){ 16, 7, 0x7f80, 0x7f81 };
	case RW_DTYPE_FLOAT32:
		return (struct scan_format){ 32, 23, 0x7f800000, 0x7f800001 };
	case RW_DTYPE_FLOAT64:
		return (struct scan_format){ 64, 52, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff0000000000001) };
	case RW_DTYPE_FLOAT8_E4M3:
		return (struct scan_format){ 8, 3, 0x7f, 0x7f };
	case RW_DTYPE_FLOAT8_E5M2:
		return (struct scan_format){ 8, 2, 0x7c, 0x7d };
	case RW_DTYPE_INT32:
	case RW_DTYPE_UINT32:
		return (struct scan_format){ 32, 0, 0, 0 };
	case RW_DTYPE_INT64:
	case RW_DTYPE_UINT64:
		return (struct scan_format){ 64, 0, 0, 0 };
	default:
		return (struct scan_format){ 8, 0, 0, 0 };
	}
}

SCAN_INLINE uint64_t scan_magnitude(struct scan_format format, uint64_t bits)
{
	return bits & ((UINT64_C(1) << (format.width - 1)) - 1);
}

/* Of a floating type. */
SCAN_INLINE enum scan_class scan_classify(struct scan_format format, uint64_t magnitude)
{
	if (magnitude < format.bad)
		return SCAN_FINITE;
	return magnitude < format.nan ? SCAN_INF : SCAN_NAN;
}

/* fp8 is scaled to its range, so its end is reached in earnest; of wider types it is not counted. */
SCAN_INLINE int scan_is_saturated(struct scan_format format, uint64_t magnitude)
{
	return format.width == 8 && magnitude == format.bad - 1;
}

SCAN_INLINE float scan_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* To nearest; what is beyond a float's range is the end of it, so that finite stays finite. */
SCAN_INLINE float scan_float_of_fp64(uint64_t magnitude)
{
	const uint64_t float_max = UINT64_C(0x47efffffe0000000);
	double value;

	if (magnitude > float_max)
		magnitude = float_max;
	memcpy(&value, &magnitude, sizeof(value));
	return (float)value;
}

/* A finite magnitude of a floating type as a number; exact for all but fp64. */
SCAN_INLINE float scan_magnitude_value(struct scan_format format, uint64_t magnitude)
{
	const uint32_t fraction = format.fraction, bits = (uint32_t)magnitude;

	if (format.width == 64)
		return scan_float_of_fp64(magnitude);
	if (fraction == 23)
		return scan_float_of_bits(bits);
	if (fraction == 7)
		return scan_float_of_bits(bits << 16);

	const uint32_t bias = (1u << (format.width - fraction - 2)) - 1;
	if (bits >> fraction)
		return scan_float_of_bits((bits << (23 - fraction)) + ((127 - bias) << 23));
	return (float)bits * scan_float_of_bits((128 - bias - fraction) << 23);
}

#endif
