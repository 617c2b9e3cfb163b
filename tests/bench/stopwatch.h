/* SPDX-License-Identifier: MIT */
/* Times of many short rounds: the benches print medians and means of these, never a single time. */
#ifndef BENCH_STOPWATCH_H
#define BENCH_STOPWATCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t stopwatch_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int stopwatch_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts in place. */
static inline double stopwatch_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), stopwatch_compare);
	return count ? values[count / 2] : 0;
}

static inline double stopwatch_mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

#endif
