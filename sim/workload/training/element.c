/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/element.h"

#include <math.h>
#include <string.h>

enum { FLOAT_MANTISSA = 23, FLOAT_BIAS = 127 };

/* Exponent and mantissa lie as in IEEE 754; in e4m3 the largest exponent is a number's, too, and NaN its last
 * mantissa. */
struct format {
	size_t size;
	int mantissa, bias;
	uint32_t largest, nan;
};

static const struct format *format_of(ncclDataType_t type)
{
	static const struct format float32 = { 4, FLOAT_MANTISSA, FLOAT_BIAS, 0x7f7fffff, 0x7fc00000 };
	static const struct format bfloat16 = { 2, 7, 127, 0x7f7f, 0x7fc0 };
	static const struct format float16 = { 2, 10, 15, 0x7bff, 0x7e00 };
	static const struct format e4m3 = { 1, 3, 7, 0x7e, 0x7f };

	switch (type) {
	case ncclFloat32:
		return &float32;
	case ncclBfloat16:
		return &bfloat16;
	case ncclFloat16:
		return &float16;
	case ncclFloat8e4m3:
		return &e4m3;
	default:
		return NULL;
	}
}

size_t element_size(ncclDataType_t type)
{
	const struct format *format = format_of(type);

	return format ? format->size : 0;
}

uint32_t element_largest_bits(ncclDataType_t type)
{
	return format_of(type)->largest;
}

uint32_t element_bits(ncclDataType_t type, float value)
{
	const struct format *format = format_of(type);
	uint32_t bits, sign, magnitude;

	memcpy(&bits, &value, sizeof(bits));
	sign = bits >> 31 << (8 * format->size - 1);
	if (isnan(value))
		return sign | format->nan;
	if (isinf(value))
		return sign | (format->largest + 1);
	magnitude = bits & 0x7fffffff;
	uint32_t below = (uint32_t)(FLOAT_BIAS - format->bias) << FLOAT_MANTISSA;
	if (magnitude < below + (1u << FLOAT_MANTISSA))
		return sign;
	magnitude = (magnitude - below) >> (FLOAT_MANTISSA - format->mantissa);
	return sign | (magnitude > format->largest ? format->largest + 1 : magnitude);
}

static uint32_t load(const struct format *format, const void *data, size_t index)
{
	uint32_t bits = 0;

	memcpy(&bits, (const char *)data + index * format->size, format->size);
	return bits;
}

void element_write(ncclDataType_t type, void *data, size_t index, float value)
{
	size_t size = element_size(type);
	uint32_t bits = element_bits(type, value);

	memcpy((char *)data + index * size, &bits, size);
}

bool element_is(ncclDataType_t type, const void *data, size_t index, float value)
{
	return load(format_of(type), data, index) == element_bits(type, value);
}

bool element_all_finite(ncclDataType_t type, const void *data, size_t count)
{
	const struct format *format = format_of(type);
	uint32_t sign = 1u << (8 * format->size - 1);

	for (size_t i = 0; i < count; i++)
		if ((load(format, data, i) & (sign - 1)) > format->largest)
			return false;
	return true;
}
