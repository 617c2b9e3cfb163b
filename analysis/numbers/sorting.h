/* SPDX-License-Identifier: MIT */
/* Sorts numbers in ascending order, in place. */
#ifndef ANALYSIS_NUMBERS_SORTING_H
#define ANALYSIS_NUMBERS_SORTING_H

#include <stddef.h>
#include <stdint.h>

void sort_doubles(double *values, size_t count);
void sort_floats(float *values, size_t count);
void sort_i32(int32_t *values, size_t count);
void sort_u32(uint32_t *values, size_t count);
void sort_u64(uint64_t *values, size_t count);

#endif
