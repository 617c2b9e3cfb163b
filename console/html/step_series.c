/* SPDX-License-Identifier: MIT */
#include "console/html/step_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MIN = 6, SLOPE_SAMPLES = 256 };
static const double chance = 0.001, change_min = 0.05, trend_z = 4;

void step_series_note(struct step_series *series, uint64_t step, uint64_t at_ns)
{
	if (!step)
		return;
	if (!series->count)
		series->first = step;
	if (step < series->first || step - series->first >= STEP_SERIES_MOST)
		return;
	size_t index = step - series->first;

	if (index >= series->room) {
		size_t room = 2 * index + 256;
		uint64_t *starts = reallocarray(series->starts, room, sizeof(*starts));

		if (!starts)
			return;
		memset(starts + series->room, 0xff, (room - series->room) * sizeof(*starts));
		series->starts = starts;
		series->room = room;
	}
	if (index >= series->count)
		series->count = index + 1;
	if (at_ns < series->starts[index])
		series->starts[index] = at_ns;
}

uint64_t step_series_duration_ns(const struct step_series *series, size_t i)
{
	if (i + 1 >= series->count || series->starts[i] == UINT64_MAX || series->starts[i + 1] == UINT64_MAX ||
	    series->starts[i + 1] <= series->starts[i])
		return 0;
	return series->starts[i + 1] - series->starts[i];
}

void step_series_free(struct step_series *series)
{
	free(series->starts);
	*series = (struct step_series){ 0 };
}

/* Levels */

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Overwrites values. */
static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double median_of(const double *values, size_t count)
{
	static double copy[STEP_VALUES];

	memcpy(copy, values, count * sizeof(*values));
	return median(copy, count);
}

/* Twice the rank of values[i] among all, less its mean: no ties are lost. */
static double centred_rank(const double *sorted, size_t count, double value)
{
	size_t below = 0, up_to = count, low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	below = low;
	for (high = count; low < high;) {
		size_t middle = (low + high) / 2;

		if (sorted[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	up_to = low;
	return (double)(below + up_to) - (double)count;
}

/* Where the values part best; 0: nowhere that chance does not explain. */
static size_t find_change(const double *values, size_t count)
{
	static double sorted[STEP_VALUES];
	double sum = 0, most = 0, n = (double)count;
	size_t at = 0;

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), by_value);
	for (size_t i = 0; i + 1 < count; i++) {
		sum += centred_rank(sorted, count, values[i]);
		if (fabs(sum) > most) {
			most = fabs(sum);
			at = i + 1;
		}
	}
	bool by_chance = 2 * exp(-6 * most * most / (n * n * n + n * n)) > chance;

	return by_chance || at < LEVEL_MIN || count - at < LEVEL_MIN ? 0 : at;
}

/* The median slope of all pairs (Theil and Sen) where a trend is no chance (Mann and Kendall); else 0. */
static double find_slope(const double *values, size_t count)
{
	static double slopes[SLOPE_SAMPLES * SLOPE_SAMPLES / 2];
	size_t every = (count + SLOPE_SAMPLES - 1) / SLOPE_SAMPLES, n = count / (every ? every : 1), pairs = 0;
	double score = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			double by = values[j * every] - values[i * every];

			score += (by > 0) - (by < 0);
			slopes[pairs++] = by / (double)((j - i) * every);
		}
	double variance = (double)n * ((double)n - 1) * (2 * (double)n + 5) / 18;

	return n >= 2 * LEVEL_MIN && fabs(score) > trend_z * sqrt(variance) ? median(slopes, pairs) : 0;
}

/* How far the values are from a line through their middle. */
static double off_line(const double *values, size_t count, double middle, double slope)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += fabs(values[i] - middle - slope * ((double)i - (double)(count - 1) / 2));
	return sum;
}

struct splitting {
	const double *values;
	struct step_level *levels;
	size_t count;
};

static void split(struct splitting *splitting, size_t begin, size_t end)
{
	const double *values = splitting->values + begin;
	size_t count = end - begin, at = 0;
	double middle = median_of(values, count), slope = 0;

	if (splitting->count < STEP_LEVELS - 8 && count >= 2 * LEVEL_MIN) {
		at = find_change(values, count);
		slope = at ? find_slope(values, count) : 0;
	}
	double before = at ? median_of(values, at) : 0, after = at ? median_of(values + at, count - at) : 0;

	if (at && fabs(after - before) < change_min * before)
		at = 0;
	if (fabs(slope) * (double)count < change_min * middle)
		slope = 0;
	/* What creeps can be cut in two as well: whichever is nearer to what it was. */
	if (at && (!slope || off_line(values, at, before, 0) + off_line(values + at, count - at, after, 0) <
				 off_line(values, count, middle, slope))) {
		split(splitting, begin, begin + at);
		split(splitting, begin + at, end);
		return;
	}
	if (splitting->count < STEP_LEVELS)
		splitting->levels[splitting->count++] = (struct step_level){ begin, end, middle, slope };
}

size_t step_levels(const double *values, size_t count, struct step_level levels[STEP_LEVELS])
{
	struct splitting splitting = { values, levels, 0 };

	if (count > STEP_VALUES)
		count = STEP_VALUES;
	if (count)
		split(&splitting, 0, count);
	return splitting.count;
}
