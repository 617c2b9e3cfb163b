/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "analysis/explain/levels.h"
#include "analysis/numbers/trend.h"
#include "base/numbers/splitmix.h"

/* From 0 to below 1, the same in each run. */
static double noise(size_t i)
{
	return (double)(splitmix_mix((i + 1) * SPLITMIX_STEP) >> 11) / 9007199254740992.0;
}

Test(trend, counts_the_pairs_that_rise)
{
	static const double rises[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, falls[] = { 8, 7, 6, 5, 4, 3, 2, 1 },
			    equal[] = { 3, 3, 3, 3 };

	cr_expect_float_eq(trend_score(rises, 8), 27 / sqrt(8 * 7 * 21 / 18.0), 1e-9);
	cr_expect_float_eq(trend_score(falls, 8), -27 / sqrt(8 * 7 * 21 / 18.0), 1e-9);
	cr_expect_eq(trend_score(equal, 4), 0);
	cr_expect_eq(trend_score(rises, 1), 0);
	cr_expect_eq(trend_score(rises, 0), 0);
}

Test(trend, its_slope_is_by_what_the_values_are_at)
{
	static const double at[] = { 0, 1, 2, 10, 20 }, values[] = { 5, 8, 11, 35, 65 }, one_off[] = { 5, 8, 900, 35, 65 };
	double many[3000], places[3000];

	cr_expect_float_eq(trend_slope(at, values, 5), 3, 1e-9);
	cr_expect_float_eq(trend_slope(at, one_off, 5), 3, 1e-9, "one value that stands out does not matter");
	cr_expect_eq(trend_slope(at, values, 1), 0);
	cr_expect_eq(trend_slope(at, values, 0), 0);
	for (size_t i = 0; i < 3000; i++) {
		places[i] = (double)i;
		many[i] = 500 - 0.25 * (double)i;
	}
	cr_expect_float_eq(trend_slope(places, many, 3000), -0.25, 1e-9);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

Test(trend, a_median_is_that_of_the_sorted_values)
{
	double values[64], sorted[64];

	cr_expect_eq(trend_median(values, 0), 0);
	for (size_t seed = 0; seed < 3000; seed++) {
		size_t count = 1 + seed % 64;

		/* Many equal ones, too. */
		for (size_t i = 0; i < count; i++)
			sorted[i] = values[i] = floor((double)(1 + seed % 40) * noise(seed * 64 + i));
		qsort(sorted, count, sizeof(*sorted), by_value);
		cr_assert_eq(trend_median(values, count), sorted[count / 2], "seed %zu", seed);
		qsort(values, count, sizeof(*values), by_value);
		cr_assert_arr_eq(values, sorted, count * sizeof(*values), "seed %zu: no value is lost", seed);
	}
}

Test(levels, a_lasting_change_is_found_where_it_is)
{
	struct lasting_level levels[LEVELS_MOST];
	double values[400];

	for (size_t i = 0; i < 400; i++)
		values[i] = (i < 250 ? 500 : 590) + 20 * noise(i) + (i % 60 == 7 ? 900 : 0);
	size_t count = levels_find(NULL, values, 400, levels);

	cr_assert_eq(count, 2, "%zu", count);
	cr_expect(levels[1].begin >= 248 && levels[1].begin <= 252, "%zu", levels[1].begin);
	cr_expect_eq(levels[0].end, levels[1].begin);
	cr_expect_eq(levels[1].end, 400);
	cr_expect_float_eq(levels[0].median, 510, 5);
	cr_expect_float_eq(levels[1].median, 600, 5);
	cr_expect_eq(levels[0].slope, 0);
}

Test(levels, noise_is_no_change)
{
	struct lasting_level levels[LEVELS_MOST];
	double values[LEVELS_VALUES];
	size_t changes = 0;

	for (size_t seed = 0; seed < 200; seed++) {
		for (size_t i = 0; i < 300; i++)
			values[i] = 500 * (1 + noise(seed * 300 + i));
		changes += levels_find(NULL, values, 300, levels) - 1;
	}
	cr_expect_leq(changes, 2, "%zu in 200 series, one in a thousand comes by chance", changes);
	for (size_t i = 0; i < LEVELS_VALUES; i++)
		values[i] = i < 1000 ? 500 : 510;
	cr_expect_eq(levels_find(NULL, values, LEVELS_VALUES, levels), 1, "2 %% are no change");
	cr_expect_eq(levels_find(NULL, values, 0, levels), 0);
}

Test(levels, what_creeps_is_a_slope_and_no_stairs)
{
	struct lasting_level levels[LEVELS_MOST];
	double values[600];

	for (size_t i = 0; i < 600; i++)
		values[i] = 500 + 0.5 * (double)i + 10 * noise(i);
	size_t count = levels_find(NULL, values, 600, levels);

	cr_assert_eq(count, 1, "%zu", count);
	cr_expect_float_eq(levels[0].slope, 0.5, 0.02);
}

Test(levels, what_begins_to_creep_is_a_level_and_then_a_slope)
{
	for (size_t since = 100; since <= 500; since += 100) {
		struct lasting_level levels[LEVELS_MOST];
		double values[600];

		for (size_t i = 0; i < 600; i++)
			values[i] = 500 + (i < since ? 0 : 2 * (double)(i - since)) + 20 * noise(i) + (i % 50 == 9 ? 900 : 0);
		size_t count = levels_find(NULL, values, 600, levels);

		cr_assert_eq(count, 2, "since %zu: %zu", since, count);
		cr_expect(levels[1].begin + 10 >= since && levels[1].begin <= since + 10, "since %zu: %zu", since, levels[1].begin);
		cr_expect_eq(levels[0].slope, 0);
		cr_expect_float_eq(levels[0].median, 510, 5);
		cr_expect_float_eq(levels[1].slope, 2, 0.1, "since %zu: %f", since, levels[1].slope);
	}
}

Test(levels, what_was_before_it_crept_may_be_several_levels)
{
	struct lasting_level levels[LEVELS_MOST];
	double values[600];

	for (size_t i = 0; i < 600; i++)
		values[i] = (i < 200 ? 400 : 500) + (i < 400 ? 0 : (double)(i - 400)) + 10 * noise(i);
	size_t count = levels_find(NULL, values, 600, levels);

	cr_assert_eq(count, 3, "%zu", count);
	cr_expect(levels[1].begin >= 198 && levels[1].begin <= 202, "%zu", levels[1].begin);
	cr_expect(levels[2].begin >= 390 && levels[2].begin <= 410, "%zu", levels[2].begin);
	cr_expect_float_eq(levels[2].slope, 1, 0.1);
}

Test(levels, a_change_right_behind_the_first_values_is_seen)
{
	struct lasting_level levels[LEVELS_MOST];
	double values[58];

	for (size_t i = 0; i < 58; i++)
		values[i] = (i < 6 ? 250 : 1220) + 100 * noise(i) + (i % 9 == 7 ? 300 : 0);
	cr_assert_eq(levels_find(NULL, values, 58, levels), 2);
	cr_expect_eq(levels[1].begin, 6);
	cr_expect_eq(levels[1].end, 58);
	for (size_t i = 0; i < 58; i++)
		values[i] = (i < 52 ? 250 : 1220) + 100 * noise(i);
	cr_assert_eq(levels_find(NULL, values, 58, levels), 2);
	cr_expect_eq(levels[1].begin, 52);
}
