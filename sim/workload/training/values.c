/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/values.h"

#include "sim/workload/training/element.h"
#include "sim/workload/training/gpu.h"

static const struct {
	ncclDataType_t type;
	unsigned int period;
} types[VALUES_TYPES] = {
	[VALUES_BF16] = { ncclBfloat16, 251 },
	[VALUES_FP8] = { ncclFloat8e4m3, 16 },
	[VALUES_BF16_SUM] = { ncclBfloat16, 4 },
	[VALUES_FP16_SUM] = { ncclFloat16, 4 },
	[VALUES_FLOAT] = { ncclFloat32, 64 },
};

size_t values_size(enum values_type type)
{
	return element_size(types[type].type);
}

ncclDataType_t values_nccl_type(enum values_type type)
{
	return types[type].type;
}

void values_open(struct values *values, size_t elements)
{
	values->elements = elements;
	for (int type = 0; type < VALUES_TYPES; type++) {
		size_t length = elements + types[type].period;

		values->tables[type] = gpu_allocate_pinned(length * values_size(type));
		for (size_t i = 0; i < length; i++)
			element_write(types[type].type, values->tables[type], i, i % types[type].period);
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
	return (const char *)values->tables[type] + offset_of(type, rank, site, step, first) * values_size(type);
}

float values_at(enum values_type type, int rank, int site, int step, size_t index)
{
	return offset_of(type, rank, site, step, index);
}
