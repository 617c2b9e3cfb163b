/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/trend.h"

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

/* Hoare's selection (1961): what is below goes to the left, what is above to the right, until they meet at the
 * middle. */
double trend_median(double *values, size_t count)
{
	size_t from = 0, until = count ? count - 1 : 0, at = count / 2;

	while (from < until) {
		double pivot = values[from + (until - from) / 2];
		size_t left = from, right = until;

		for (;; left++, right--) {
			while (values[left] < pivot)
				left++;
			while (values[right] > pivot)
				right--;
			if (left >= right)
				break;
			double value = values[left];
			values[left] = values[right];
			values[right] = value;
		}
		if (at <= right)
			until = right;
		else
			from = right + 1;
	}
	return count ? values[at] : 0;
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
