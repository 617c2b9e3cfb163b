/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <string.h>

/* Upper half of the float: exact for integers below 256. */
static uint16_t bf16_from(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 16;
}

void pattern_fill_parameters(uint16_t *bf16, size_t elements)
{
	for (size_t i = 0; i < elements + PATTERN_PARAMETER_PERIOD; i++)
		bf16[i] = bf16_from(i % PATTERN_PARAMETER_PERIOD);
}

void pattern_fill_gradients(float *values, size_t elements)
{
	for (size_t i = 0; i < elements + PATTERN_GRADIENT_PERIOD; i++)
		values[i] = i % PATTERN_GRADIENT_PERIOD;
}

size_t pattern_parameter_offset(int rank, int layer, int step)
{
	return (rank * 31u + layer * 7u + step * 3u) % PATTERN_PARAMETER_PERIOD;
}

size_t pattern_gradient_offset(int rank, int layer, int step)
{
	return ((unsigned int)rank + layer + step) % PATTERN_GRADIENT_PERIOD;
}

float pattern_norm(int rank, int step)
{
	return 1 + ((unsigned int)rank + step) % 7;
}

long pattern_check_gathered(const uint16_t *bf16, size_t elements, int ranks, int layer, int step)
{
	for (int rank = 0; rank < ranks; rank++) {
		size_t offset = pattern_parameter_offset(rank, layer, step);

		for (size_t i = 0; i < elements; i++)
			if (bf16[rank * elements + i] != bf16_from((offset + i) % PATTERN_PARAMETER_PERIOD))
				return rank * elements + i;
	}
	return -1;
}

long pattern_check_reduced(const float *values, size_t elements, int rank, int ranks, int layer, int step)
{
	for (size_t i = 0; i < elements; i++) {
		float sum = 0;

		for (int other = 0; other < ranks; other++)
			sum += (pattern_gradient_offset(other, layer, step) + rank * elements + i) %
			       PATTERN_GRADIENT_PERIOD;
		if (values[i] != sum)
			return i;
	}
	return -1;
}

float pattern_norm_sum(int ranks, int step)
{
	float sum = 0;

	for (int rank = 0; rank < ranks; rank++)
		sum += pattern_norm(rank, step);
	return sum;
}

uint64_t pattern_digest(uint64_t digest, const void *data, size_t size)
{
	const unsigned char *byte = data;

	digest ^= 0xcbf29ce484222325;
	for (size_t i = 0; i < size; i++)
		digest = (digest ^ byte[i]) * 0x100000001b3;
	return digest;
}
