/* SPDX-License-Identifier: MIT */
/*
 * The values the ranks exchange, so that each can tell whether a collective's result is right without asking anybody.
 * All are small integers: bf16 holds them exactly and fp32 adds them exactly, in whatever order NCCL does.
 */
#ifndef WORKLOAD_PATTERN_H
#define WORKLOAD_PATTERN_H

#include <stddef.h>
#include <stdint.h>

enum {
	PATTERN_PARAMETER_PERIOD = 251,
	PATTERN_GRADIENT_PERIOD = 64,
};

/* Fills `elements` + one period: a rank's values are found at the offset below. */
void pattern_fill_parameters(uint16_t *bf16, size_t elements);
void pattern_fill_gradients(float *values, size_t elements);
size_t pattern_parameter_offset(int rank, int layer, int step);
size_t pattern_gradient_offset(int rank, int layer, int step);
float pattern_norm(int rank, int step);

/* What a collective over `ranks` ranks must have left. Each returns the index of the first wrong value, -1 if none. */
long pattern_check_gathered(const uint16_t *bf16, size_t elements, int ranks, int layer, int step);
long pattern_check_reduced(const float *values, size_t elements, int rank, int ranks, int layer, int step);
float pattern_norm_sum(int ranks, int step);

/* FNV-1a over what the collectives left, from seed 0 or an earlier digest. */
uint64_t pattern_digest(uint64_t digest, const void *data, size_t size);

#endif
