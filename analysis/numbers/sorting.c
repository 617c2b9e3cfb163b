/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/sorting.h"

#include <stdlib.h>

static int by_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

void sort_doubles(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_doubles);
}

static int by_floats(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;
	return (a > b) - (a < b);
}

void sort_floats(float *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_floats);
}

static int by_i32(const void *left, const void *right)
{
	int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
	return (a > b) - (a < b);
}

void sort_i32(int32_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_i32);
}

static int by_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

void sort_u32(uint32_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_u32);
}

static int by_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

void sort_u64(uint64_t *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_u64);
}
