/* SPDX-License-Identifier: MIT */
#include "values.h"

#include <stdint.h>
#include <string.h>

#include "gpu.h"

static const struct {
	size_t size;
	unsigned int period;
} types[VALUES_TYPES] = {
	[VALUES_BF16] = { sizeof(uint16_t), 251 },
	[VALUES_BF16_SUM] = { sizeof(uint16_t), 4 },
	[VALUES_FLOAT] = { sizeof(float), 64 },
};

size_t values_size(enum values_type type)
{
	return types[type].size;
}

/* Upper half of the float: exact for integers below 256. */
static void write_value(void *table, enum values_type type, size_t index, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (type == VALUES_FLOAT)
		((float *)table)[index] = value;
	else
		((uint16_t *)table)[index] = bits >> 16;
}

float values_read(enum values_type type, const void *data, size_t index)
{
	uint32_t bits;
	float value;

	if (type == VALUES_FLOAT)
		return ((const float *)data)[index];
	bits = (uint32_t)((const uint16_t *)data)[index] << 16;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void values_open(struct values *values, size_t elements)
{
	values->elements = elements;
	for (int type = 0; type < VALUES_TYPES; type++) {
		size_t length = elements + types[type].period;

		values->tables[type] = gpu_allocate_pinned(length * types[type].size);
		for (size_t i = 0; i < length; i++)
			write_value(values->tables[type], type, i, i % types[type].period);
	}
}

void values_close(struct values *values)
{
	for (int type = 0; type < VALUES_TYPES; type++)
		GPU_CHECK(cuMemFreeHost(values->tables[type]));
}

static size_t offset_of(enum values_type type, int rank, int site, int step, size_t index)
{
	return (rank * 31u + site * 7u + step * 3u + index) % types[type].period;
}

const void *values_of(const struct values *values, enum values_type type, int rank, int site, int step, size_t first)
{
	return (const char *)values->tables[type] + offset_of(type, rank, site, step, first) * types[type].size;
}

float values_at(enum values_type type, int rank, int site, int step, size_t index)
{
	return offset_of(type, rank, site, step, index);
}
