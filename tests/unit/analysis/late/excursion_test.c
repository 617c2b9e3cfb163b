/* SPDX-License-Identifier: MIT */
/* Is one rank, of which it is said how late it was in each step, late beyond what the others' noise explains? */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/late/excursion.h"
#include "analysis/late/peers.h"
#include "analysis/late/straggler.h"

enum { LATE = 0, NOTED_LATER = 2 };

struct course {
	uint32_t ranks, steps;
	double step_ms;
	double (*late_ms)(uint32_t rank, uint64_t step, double ms);
	double ms; /* given to it */
	bool alone; /* no rank does the same as another */
};

static bool is_proven_of(const struct course *course)
{
	struct stragglers stragglers = { .suspects = calloc(course->ranks, sizeof(struct suspect)),
					 .suspect_count = course->ranks,
					 .first_step = 1 };

	cr_assert(stragglers.suspects);
	for (uint64_t step = 1; step <= course->steps; step++) {
		pace_note(&stragglers.pace, step, (uint64_t)((double)step * course->step_ms * 1e6));
		for (uint32_t i = 0; i < course->ranks; i++) {
			struct suspect *suspect = &stragglers.suspects[i];
			uint64_t late_ns = (uint64_t)(course->late_ms(i, step, course->ms) * 1e6);
			suspect->host = i;
			suspect->group = course->alone ? i : 0;
			suspect->step = step;
			suspect->blames[step % STRAGGLER_STEPS] = (struct blame){
				.step = step, .late_ns = late_ns, .shown_ns = late_ns, .worst_ns = late_ns
			};
		}
		if (step > NOTED_LATER)
			excursions_note(&stragglers, step - NOTED_LATER);
	}
	struct peers peers = peers_in(&stragglers, course->steps);
	bool proven = excursion_is_proven(&peers, &stragglers.suspects[LATE], suspect_limit_ns(peers.step_ns));
	peers_forget(&peers);
	free(stragglers.suspects);
	return proven;
}

/* Late in the last 24 steps, by one time and 1.4 times `ms` in turn. What the others are late by comes and goes four
 * times, and is never as much for 12 steps. */
static double for_long(uint32_t rank, uint64_t step, double ms)
{
	if (rank == LATE)
		return step > 120 ? ms * (step % 2 ? 1.4 : 1) : 0;
	return fmax(0, 90 * sin(2 * M_PI * (double)step / 36 + 2 * rank * rank));
}

/* Late from a step on. */
static double jumps(uint32_t rank, uint64_t step, double ms)
{
	if (step < 21)
		return 0;
	return rank == LATE ? 300 + (double)(step % 3) : rank == 1 ? ms : 0;
}

Test(excursion, a_rank_that_nobody_does_the_same_as_is_named_unless_another_has_become_half_as_late)
{
	struct course course = { .ranks = 4, .steps = 40, .step_ms = 1500, .late_ms = jumps, .alone = true };

	course.ms = 120;
	cr_expect(is_proven_of(&course));
	course.ms = 160;
	cr_expect_not(is_proven_of(&course));
}

/* Late in the last 12 steps, and more in the first `ms` of these. */
static double fades(uint32_t rank, uint64_t step, double ms)
{
	if (rank != LATE || step < 21)
		return 0;
	return (double)step < 21 + ms ? 700 : 400;
}

Test(excursion, a_rank_that_was_later_in_most_steps_than_now_has_not_jumped_but_fades)
{
	struct course course = { .ranks = 4, .steps = 32, .step_ms = 1500, .late_ms = fades, .alone = true };

	course.ms = 6;
	cr_expect(is_proven_of(&course));
	course.ms = 7;
	cr_expect_not(is_proven_of(&course));
}

/* Late in the last six steps of 60, and by `ms` in the step before. */
static double begins(uint32_t rank, uint64_t step, double ms)
{
	return rank != LATE ? 0 : step > 54 ? 400 : step == 54 ? ms : 0;
}

/* The same, in the two steps before. */
static double grows(uint32_t rank, uint64_t step, double ms)
{
	return step == 53 && rank == LATE ? ms : begins(rank, step, ms);
}

Test(excursion, a_lateness_of_a_few_steps_begins_at_once)
{
	struct course course = { .ranks = 8, .steps = 60, .step_ms = 1500, .late_ms = begins };

	cr_expect(is_proven_of(&course));
	course.ms = 99;
	cr_expect(is_proven_of(&course), "in the middle of a step");
	course.ms = 100;
	cr_expect_not(is_proven_of(&course), "the step before was a quarter as late");
	course.late_ms = grows;
	course.ms = 99;
	cr_expect_not(is_proven_of(&course), "no rank was as late as in the two steps before");
}

/* Noise that is the same in nine steps, after one, two and four others; after eight only one pair of steps could be
 * compared. */
Test(excursion, noise_is_taken_to_last_as_long_as_pairs_of_steps_show)
{
	struct suspect suspects[2] = { { .step = 9 }, { .step = 9,
		.excursions = { .steps = 9, .squares = 9, .fourths = 9, .pairs = { 8, 7, 5, 1 }, .products = { 8, 7, 5, 1 } } } };
	const struct stragglers stragglers = { .suspects = suspects, .suspect_count = 2, .first_step = 1 };

	cr_expect_float_eq(excursion_lasts(&stragglers, &suspects[0]), 1 + 2 * (1 + 2 + 4 + 8), 1e-9);
	suspects[1].excursions.pairs[2] = suspects[1].excursions.products[2] = 4;
	cr_expect_float_eq(excursion_lasts(&stragglers, &suspects[0]), 1 + 2 * (1 + 2 + 4 + 8), 1e-9,
			   "all that is left is as much as chance would leave of four");
	suspects[1].excursions.pairs[3] = 0;
	cr_expect_float_eq(excursion_lasts(&stragglers, &suspects[0]), 1 + 2 * (1 + 2 + 4), 1e-9,
			   "which is more than the job has steps");
}

Test(excursion, noise_that_lasts_is_compared_as_often_as_it_has_come_and_gone)
{
	struct course course = { .ranks = 8, .steps = 144, .step_ms = 1500, .late_ms = for_long };

	course.ms = 300;
	cr_expect_not(is_proven_of(&course));
	course.ms = 500;
	cr_expect(is_proven_of(&course));
}
