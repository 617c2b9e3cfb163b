/* SPDX-License-Identifier: MIT */
#include "analysis/trend.h"

#include <math.h>
#include <stdlib.h>

double trend_score(const double *values, size_t count)
{
	double sum = 0, n = (double)count;

	if (count < 2)
		return 0;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			sum += (values[k] > values[i]) - (values[k] < values[i]);
	/* A sum of pairs goes in steps of two: half of one is taken off, towards none. */
	sum = sum > 0 ? sum - 1 : sum < 0 ? sum + 1 : 0;
	return sum / sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double trend_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

double trend_slope(const double *at, const double *values, size_t count)
{
	size_t every = (count + TREND_VALUES - 1) / TREND_VALUES, pairs = 0;
	size_t chosen = every ? (count + every - 1) / every : 0;
	double *slopes = calloc(chosen * chosen / 2 + 1, sizeof(*slopes)), median;

	for (size_t i = 0; slopes && i < count; i += every)
		for (size_t k = i + every; k < count; k += every)
			if (at[k] > at[i])
				slopes[pairs++] = (values[k] - values[i]) / (at[k] - at[i]);
	median = slopes ? trend_median(slopes, pairs) : 0;
	free(slopes);
	return median;
}
