/* SPDX-License-Identifier: MIT */
/* What two runs are compared by: the test for times, and what is told of a line of calls. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "console/compare/line_pair.h"
#include "console/compare/rank_sum.h"
#include "console/compare/times.h"

/* U and its variance by hand, the chance from the normal distribution. */
Test(compare, the_rank_sum_is_that_of_the_book)
{
	static const double low[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, high[] = { 9, 10, 11, 12, 13, 14, 15, 16 };
	static const double odd[] = { 1, 3, 5, 7, 9, 11, 13, 15 }, even[] = { 2, 4, 6, 8, 10, 12, 14, 16 };
	static const double same[] = { 4, 4, 4, 4, 4, 4, 4, 4 };

	/* U = 0 of a mean of 32, variance 8 · 8 · 17 / 12: z = 31.5 / 9.522 */
	cr_expect_float_eq(rank_sum(low, 8, high, 8), 0.00093915, 1e-7);
	cr_expect_float_eq(rank_sum(high, 8, low, 8), 0.00093915, 1e-7);
	/* U = 28: z = 3.5 / 9.522 */
	cr_expect_float_eq(rank_sum(odd, 8, even, 8), 0.71321, 1e-4);
	cr_expect_eq(rank_sum(same, 8, same, 8), 1);
	cr_expect_eq(rank_sum(low, 7, high, 8), 1, "too few to say anything");
}

Test(compare, a_batch_is_the_median_of_its_stretch)
{
	double samples[90];

	for (int i = 0; i < 90; i++)
		samples[i] = i / 3 + (i % 3 == 1 ? 1000 : 0); /* one of three is far off */
	cr_assert_eq(rank_sum_batch(samples, 90), RANK_SUM_BATCHES);
	for (int i = 0; i < RANK_SUM_BATCHES; i++)
		cr_expect_eq(samples[i], i);
	cr_expect_eq(rank_sum_batch(samples, 29), 29);
}

static uint64_t chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Operations of 10 to 14 ms that differ from each other by noise that lasts for a while; B's by `more`. */
static void play(struct times *times, int kinds, double more, uint64_t seed)
{
	struct side_line line = { .name = (char *)"tp" };
	uint64_t state = seed;

	for (int side = 0; side < TIMES_SIDES; side++)
		for (int kind = 0; kind < kinds; kind++) {
			double noise = 0;

			for (uint64_t i = 0; i < 400; i++) {
				struct rw_operation operation = { .known = RW_KNOWN_STARTED | RW_KNOWN_DONE,
								  .function = RW_FUNCTION_ALL_REDUCE,
								  .count = (uint64_t)kind,
								  .sequence = i,
								  .started_seen_ns = 1 };
				noise = 0.8 * noise + (double)(chance(&state) % 1000) / 1000 - 0.5;
				double ms = 12 + noise + (side ? more : 0);

				operation.done_seen_ns = (uint64_t)(ms * 1e6);
				cr_assert_eq(times_add(times, (enum times_side)side, &line, &operation), 0);
				operation.done_seen_ns *= 3; /* another rank, that came first and waited */
				cr_assert_eq(times_add(times, (enum times_side)side, &line, &operation), 0);
			}
		}
	cr_assert_eq(times_judge(times), 0);
}

static int differing(double more, uint64_t seed)
{
	struct times times = { 0 };
	int count = 0;

	play(&times, 5, more, seed);
	for (size_t i = 0; i < times.kind_count; i++)
		count += times.kinds[i].differs;
	times_free(&times);
	return count;
}

Test(compare, what_takes_longer_is_told_and_noise_that_lasts_is_not)
{
	int false_ones = 0;

	for (uint64_t seed = 1; seed <= 100; seed++)
		false_ones += differing(0, seed);
	cr_expect_eq(false_ones, 0, "%d of 500", false_ones);
	cr_expect_eq(differing(3, 7), 5);
	cr_expect_eq(differing(1.5, 7), 0, "less than the GPU's progress shows");
}

static struct rw_operation reduced(uint64_t sequence, float absmax, uint32_t nan, uint64_t digest)
{
	return (struct rw_operation){ .known = RW_KNOWN_IDENT | RW_KNOWN_SCAN_OUT,
				      .function = RW_FUNCTION_ALL_REDUCE,
				      .dtype = RW_DTYPE_FLOAT32,
				      .count = 64,
				      .sequence = sequence,
				      .scan_out = { .absmax = absmax, .nan = nan, .digest = digest } };
}

enum { CALLS = 12 };

struct lines {
	struct rw_operation calls[TIMES_SIDES][CALLS];
	const struct rw_operation *list[TIMES_SIDES][CALLS];
	struct side_line lines[TIMES_SIDES];
};

static void fill(struct lines *all)
{
	for (int side = 0; side < TIMES_SIDES; side++) {
		for (int i = 0; i < CALLS; i++) {
			all->calls[side][i] = reduced((uint64_t)i, 10, 0, 5);
			all->list[side][i] = &all->calls[side][i];
		}
		all->lines[side] = (struct side_line){ .list = all->list[side], .count = CALLS };
	}
}

/* The number of the call at which each kind was news; -1 never. */
static void walk(struct lines *all, bool whole, long at[PARTING_KINDS], struct line_pair *pair)
{
	const struct side_line *const lines[] = { &all->lines[TIMES_A], &all->lines[TIMES_B] };

	for (int kind = 0; kind < PARTING_KINDS; kind++)
		at[kind] = -1;
	line_pair_begin(pair, lines, whole);
	while (line_pair_next(pair))
		for (int kind = 0; kind < PARTING_KINDS; kind++)
			if (pair->news & 1u << kind)
				at[kind] = (long)pair->reported[kind].call->sequence;
}

Test(compare, magnitudes_part_where_three_in_a_row_differ)
{
	struct lines all;
	struct line_pair pair;
	long at[PARTING_KINDS];

	fill(&all);
	all.calls[TIMES_B][2].scan_out.absmax = 20; /* comes back */
	for (int i = 5; i < CALLS; i++)
		all.calls[TIMES_B][i].scan_out.absmax = 11;
	walk(&all, true, at, &pair);
	cr_expect_eq(at[PARTING_MAGNITUDE], 5);
	cr_expect_eq(at[PARTING_BITS], -1);
	cr_expect_eq(pair.scans, CALLS);
	fill(&all);
	for (int i = 0; i < CALLS; i++)
		all.calls[TIMES_B][i].scan_out.absmax = 10.4f;
	all.calls[TIMES_B][7].scan_out.digest = 6;
	walk(&all, true, at, &pair);
	cr_expect_eq(at[PARTING_MAGNITUDE], -1, "4 %%");
	cr_expect_eq(at[PARTING_BITS], 7);
}

Test(compare, beside_a_nan_neither_magnitude_nor_bits_are_news)
{
	struct lines all;
	struct line_pair pair;
	long at[PARTING_KINDS];

	fill(&all);
	for (int i = 4; i < CALLS; i++)
		all.calls[TIMES_B][i] = reduced((uint64_t)i, 3, 1, 9);
	walk(&all, true, at, &pair);
	cr_expect_eq(at[PARTING_BAD], 4);
	cr_expect_eq(at[PARTING_MAGNITUDE], -1);
	cr_expect_eq(at[PARTING_BITS], -1);
}

Test(compare, what_one_box_has_forgotten_is_not_compared)
{
	struct lines all;
	struct line_pair pair;
	long at[PARTING_KINDS];

	fill(&all);
	all.lines[TIMES_B].list += 3;
	all.lines[TIMES_B].count -= 3;
	walk(&all, false, at, &pair);
	cr_expect_eq(pair.scans, CALLS - 3);
	cr_expect_eq(at[PARTING_CALLS], -1);
	all.calls[TIMES_A][6].count = 65;
	walk(&all, false, at, &pair);
	cr_expect_eq(at[PARTING_CALLS], 6);
	cr_expect_eq(pair.scans, 3, "nothing is compared behind a call that differs");
	/* Nothing in common. */
	for (int i = 0; i < CALLS; i++)
		all.calls[TIMES_B][i].sequence += 100;
	walk(&all, false, at, &pair);
	cr_expect_eq(at[PARTING_CALLS], -1);
	cr_expect_eq(pair.scans, 0);
}
