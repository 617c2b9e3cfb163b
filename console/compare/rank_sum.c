/* SPDX-License-Identifier: MIT */
#include "console/compare/rank_sum.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sample {
	double value;
	bool first; /* of side a */
};

static int by_number(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

double rank_sum_median(double *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), by_number);
	return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

size_t rank_sum_batch(double *samples, size_t count)
{
	if (count <= RANK_SUM_BATCHES)
		return count;
	for (size_t i = 0; i < RANK_SUM_BATCHES; i++) {
		size_t from = i * count / RANK_SUM_BATCHES, until = (i + 1) * count / RANK_SUM_BATCHES;

		samples[i] = rank_sum_median(&samples[from], until - from);
	}
	return RANK_SUM_BATCHES;
}

double rank_sum(const double *a, size_t a_count, const double *b, size_t b_count)
{
	size_t count = a_count + b_count;
	struct sample *all = a_count < RANK_SUM_LEAST || b_count < RANK_SUM_LEAST ? NULL : calloc(count, sizeof(*all));
	double of_first = 0, ties = 0;

	if (!all)
		return 1;
	for (size_t i = 0; i < count; i++)
		all[i] = i < a_count ? (struct sample){ a[i], true } : (struct sample){ b[i - a_count], false };
	qsort(all, count, sizeof(*all), by_value);
	for (size_t from = 0, until; from < count; from = until) {
		for (until = from + 1; until < count && all[until].value == all[from].value;)
			until++;
		double same = (double)(until - from), rank = (double)(from + until + 1) / 2;

		for (size_t i = from; i < until; i++)
			of_first += all[i].first ? rank : 0;
		ties += same * same * same - same;
	}
	free(all);
	double n = (double)count, na = (double)a_count, nb = (double)b_count;
	double apart = fabs(of_first - na * (na + 1) / 2 - na * nb / 2) - 0.5;
	double variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));

	return variance > 0 && apart > 0 ? erfc(apart / sqrt(2 * variance)) : 1;
}
