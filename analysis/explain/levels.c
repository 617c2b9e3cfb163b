/* SPDX-License-Identifier: MIT */
#include "analysis/explain/levels.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/sorting.h"
#include "analysis/numbers/trend.h"

enum { BENDS = 48 }; /* places that are tried for a bend before the best of them is refined */

struct splitting {
	const double *at, *values;
	double *scratch; /* room for all values */
	struct lasting_level *levels;
	size_t count;
};

static double median_of(const struct splitting *splitting, size_t begin, size_t end)
{
	memcpy(splitting->scratch, splitting->values + begin, (end - begin) * sizeof(double));
	return trend_median(splitting->scratch, end - begin);
}

/* The first place of `sorted` whose value is not below, or, with `beyond`, is above. */
static size_t place_of(const double *sorted, size_t count, double value, bool beyond)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sorted[middle] < value || (beyond && sorted[middle] <= value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ln of: how likely equal values, in any order, have their `at` smallest or largest in front, at any such place. */
static double log_chance_of_parting(size_t count, size_t at)
{
	double n = (double)count, k = (double)at;
	int sign;

	return log(2 * n) - (lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign));
}

/* Where all values before are below all that come (sign 1) or above them (-1); 0: nowhere that chance does not explain.
 * Near the begin and the end, where a test of sums sees little. */
static size_t find_parting(const struct splitting *splitting, const double *values, size_t count, double sign)
{
	double *least = splitting->scratch, most = -INFINITY; /* of this value and of all behind it; of all before */

	for (size_t i = count; i > 0; i--)
		least[i - 1] = i < count && least[i] < sign * values[i - 1] ? least[i] : sign * values[i - 1];
	for (size_t i = 0; i + LEVELS_LEAST <= count; i++) {
		if (i >= LEVELS_LEAST && most < least[i] && log_chance_of_parting(count, i) < log(LEVELS_CHANCE))
			return i;
		most = sign * values[i] > most ? sign * values[i] : most;
	}
	return 0;
}

/* Where the values part best; 0: nowhere that chance does not explain. */
static size_t find_change(const struct splitting *splitting, const double *values, size_t count)
{
	double sum = 0, most = 0, n = (double)count, *sorted = splitting->scratch;
	size_t at = 0;

	memcpy(sorted, values, count * sizeof(*values));
	sort_doubles(sorted, count);
	for (size_t i = 0; i + 1 < count; i++) {
		/* Twice its rank among all, less the mean of that: equal values have one rank. */
		sum +=
		    (double)(place_of(sorted, count, values[i], false) + place_of(sorted, count, values[i], true)) - n;
		if (fabs(sum) > most) {
			most = fabs(sum);
			at = i + 1;
		}
	}
	bool by_chance = 2 * exp(-6 * most * most / (n * n * n + n * n)) > LEVELS_CHANCE;

	if (!by_chance && at >= LEVELS_LEAST && count - at >= LEVELS_LEAST)
		return at;
	size_t rises = find_parting(splitting, values, count, 1);
	return rises ? rises : find_parting(splitting, values, count, -1);
}

/* Of an even choice of the values, at most TREND_VALUES. */
static bool has_trend(const struct splitting *splitting, const double *values, size_t count)
{
	size_t every = (count + TREND_VALUES - 1) / TREND_VALUES, chosen = 0;

	for (size_t i = 0; i < count; i += every)
		splitting->scratch[chosen++] = values[i];
	return fabs(trend_score(splitting->scratch, chosen)) > LEVELS_TREND;
}

/* How far the values are from the line with this slope that is nearest to them. */
static double off_line(const struct splitting *splitting, size_t begin, size_t end, double slope)
{
	const double *at = splitting->at, *values = splitting->values;
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		splitting->scratch[i - begin] = values[i] - slope * (at[i] - at[begin]);
	double first = trend_median(splitting->scratch, end - begin);

	for (size_t i = begin; i < end; i++)
		sum += fabs(values[i] - first - slope * (at[i] - at[begin]));
	return sum;
}

/* A level up to `at`, and a line that rises or falls from there on. */
struct bend {
	size_t at;
	double off;
};

/* The slope is the median of those from where the line begins: to the later two thirds, in which noise weighs less. */
static struct bend try_bend(const struct splitting *splitting, size_t begin, size_t end, size_t at)
{
	const double *values = splitting->values, *where = splitting->at;
	double level = median_of(splitting, begin, at), corner = where[at - 1], sum = 0;
	size_t from = at + (end - at) / 3;

	for (size_t i = from; i < end; i++)
		splitting->scratch[i - from] = (values[i] - level) / (where[i] - corner);
	double slope = trend_median(splitting->scratch, end - from);

	for (size_t i = begin; i < end; i++)
		sum += fabs(values[i] - level - (i < at ? 0 : slope * (where[i] - corner)));
	return (struct bend){ at, sum };
}

/* The best in [from, until), each `every` of them. */
static struct bend try_bends(const struct splitting *splitting, size_t begin, size_t end, size_t from, size_t until,
			     size_t every)
{
	struct bend best = { 0, INFINITY };

	for (size_t at = from; at < until; at += every) {
		struct bend bend = try_bend(splitting, begin, end, at);

		best = bend.off < best.off ? bend : best;
	}
	return best;
}

/* at 0: there is no room for one. */
static struct bend find_bend(const struct splitting *splitting, size_t begin, size_t end)
{
	size_t first = begin + LEVELS_LEAST, last = end - LEVELS_LEAST, every = (end - begin) / BENDS + 1;

	if (end - begin < 2 * LEVELS_LEAST)
		return (struct bend){ 0, INFINITY };
	struct bend best = try_bends(splitting, begin, end, first, last + 1, every);
	size_t from = best.at > first + every ? best.at - every : first,
	       until = best.at + every < last ? best.at + every : last;

	return every > 1 ? try_bends(splitting, begin, end, from, until + 1, 1) : best;
}

static void add(struct splitting *splitting, size_t begin, size_t end, double slope)
{
	if (splitting->count < LEVELS_MOST)
		splitting->levels[splitting->count++] =
		    (struct lasting_level){ begin, end, median_of(splitting, begin, end), slope };
}

static bool is_change(double before, double after)
{
	return fabs(after - before) >= LEVELS_CHANGE * fabs(before);
}

/* A part that was cut off for a bend begins with what the one before it was, where the bend comes later. */
static void merge_alike(struct splitting *splitting)
{
	struct lasting_level *levels = splitting->levels;
	size_t kept = 0;

	for (size_t i = 1; i < splitting->count; i++) {
		if (levels[kept].slope || levels[i].slope || is_change(levels[kept].median, levels[i].median)) {
			levels[++kept] = levels[i];
			continue;
		}
		levels[kept].end = levels[i].end;
		levels[kept].median = median_of(splitting, levels[kept].begin, levels[kept].end);
	}
	splitting->count = splitting->count ? kept + 1 : 0;
}

static double slope_of(const struct splitting *splitting, size_t begin, size_t end)
{
	const double *at = splitting->at + begin;
	double slope = trend_slope(at, splitting->values + begin, end - begin);
	bool small =
	    fabs(slope * (at[end - begin - 1] - at[0])) < LEVELS_CHANGE * fabs(median_of(splitting, begin, end));

	return small ? 0 : slope;
}

/* What is nearest to the values; what has more parts must be so by a tenth. */
static void split(struct splitting *splitting, size_t begin, size_t end)
{
	static const double nearer = 0.9;
	const double *values = splitting->values + begin;
	size_t count = end - begin, at = 0;
	double slope = 0;
	struct bend bend = { 0, INFINITY };

	if (splitting->count < LEVELS_MOST - 8 && count >= 2 * LEVELS_LEAST)
		at = find_change(splitting, values, count);
	if (at && has_trend(splitting, values, count)) {
		slope = slope_of(splitting, begin, end);
		bend = find_bend(splitting, begin, end);
	}
	double before = at ? median_of(splitting, begin, begin + at) : 0,
	       after = at ? median_of(splitting, begin + at, end) : 0;
	double stairs =
	    at ? off_line(splitting, begin, begin + at, 0) + off_line(splitting, begin + at, end, 0) : INFINITY;
	double line = slope ? off_line(splitting, begin, end, slope) : INFINITY;

	if (at && !is_change(before, after))
		at = 0;
	double bent = bend.at && at ? slope_of(splitting, bend.at, end) : 0;

	if (bent && bend.off < nearer * line && bend.off < stairs) {
		split(splitting, begin, bend.at);
		split(splitting, bend.at, end);
	} else if (at && stairs < line) {
		split(splitting, begin, begin + at);
		split(splitting, begin + at, end);
	} else {
		add(splitting, begin, end, slope);
	}
}

size_t levels_find(const double *at, const double *values, size_t count, struct lasting_level levels[LEVELS_MOST])
{
	if (count > LEVELS_VALUES)
		count = LEVELS_VALUES;
	double *room = count ? calloc(2 * count, sizeof(*room)) : NULL;
	struct splitting splitting = { at ? at : room, values, room ? room + count : NULL, levels, 0 };

	for (size_t i = 0; room && i < count; i++)
		room[i] = (double)i;
	if (room) {
		split(&splitting, 0, count);
		merge_alike(&splitting);
	}
	free(room);
	return splitting.count;
}
