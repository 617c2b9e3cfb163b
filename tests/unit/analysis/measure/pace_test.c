/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "analysis/measure/pace.h"

Test(pace, is_from_the_start_of_a_step_to_that_of_the_next)
{
	struct pace pace = { 0 };

	pace_note(&pace, 5, 1000);
	cr_expect_eq(pace_duration_ns(&pace, 5), 0, "the next has not started");
	pace_note(&pace, 6, 1700);
	cr_expect_eq(pace_duration_ns(&pace, 5), 700);
	cr_expect_eq(pace_duration_ns(&pace, 4), 0);
	cr_expect_eq(pace_duration_ns(&pace, 6), 0);
	pace_note(&pace, 7, 1700);
	cr_expect_eq(pace_duration_ns(&pace, 6), 0, "no time between them is not known");
	pace_note(&pace, 8, 1600);
	cr_expect_eq(pace_duration_ns(&pace, 7), 0, "nor is less than none");
}

Test(pace, forgets_what_is_too_long_ago)
{
	struct pace pace = { 0 };

	for (uint64_t step = 1; step <= PACE_STEPS + 2; step++)
		pace_note(&pace, step, step * 10);
	cr_expect_eq(pace_duration_ns(&pace, 2), 0);
	cr_expect_eq(pace_duration_ns(&pace, 3), 10);
	cr_expect_eq(pace_duration_ns(&pace, PACE_STEPS + 1), 10);
	cr_expect_eq(pace_duration_ns(&pace, PACE_STEPS + 2), 0);
}

/* Steps of 10, 20, 30, … ns: which were counted shows in the median. */
static struct pace growing(uint64_t steps)
{
	struct pace pace = { 0 };

	for (uint64_t step = 1, at = 100; step <= steps; at += 10 * step++)
		pace_note(&pace, step, at);
	return pace;
}

Test(pace, is_the_median_of_the_newest)
{
	struct pace none = { 0 }, pace = growing(21);

	cr_expect_eq(pace_step_ns(&none, 5), 0);
	cr_expect_eq(pace_step_ns(&pace, 0), 0);
	cr_expect_eq(pace_step_ns(&pace, 1), 200);
	cr_expect_eq(pace_step_ns(&pace, 2), 200, "of two the larger");
	cr_expect_eq(pace_step_ns(&pace, 5), 180);
	cr_expect_eq(pace_step_ns(&pace, 20), 110);
	cr_expect_eq(pace_step_ns(&pace, 1000), 110, "of all that there are");
	pace_note(&pace, 30, 10000);
	cr_expect_eq(pace_step_ns(&pace, 5), 0, "behind a gap nothing is known");
	pace_note(&pace, 31, 10070);
	cr_expect_eq(pace_step_ns(&pace, 5), 70, "and then what came since");
	struct pace long_one = growing(200);
	cr_expect_eq(pace_step_ns(&long_one, 1000), 1990 - 10 * ((PACE_STEPS - 1) / 2), "as many as are kept");
}

Test(pace, of_the_first_steps_leaves_out_the_very_first_and_stays)
{
	struct pace pace = growing(PACE_FEW + 1);

	cr_expect_eq(pace.first_step, 1);
	cr_expect_eq(pace.first_ns, 0, "step 6 has only begun");
	pace = growing(PACE_FEW + 2);
	cr_expect_eq(pace.first_ns, 40, "of steps 2 to 6");
	pace = growing(100);
	cr_expect_eq(pace.first_ns, 40);
	pace_note(&pace, 99, 1);
	cr_expect_eq(pace.first_step, 1, "a step that is noted again");
	struct pace late = { 0 };
	for (uint64_t step = 40; step < 60; step++)
		pace_note(&late, step, step * 7);
	cr_expect_eq(late.first_step, 40);
	cr_expect_eq(late.first_ns, 7);
	pace_note(&late, 3, 21);
	cr_expect_eq(late.first_step, 3);
}

Test(pace, keeps_the_first_steps_one_by_one)
{
	struct pace pace = growing(PACE_FIRST + 20);

	for (uint64_t i = 0; i < PACE_FIRST; i++)
		cr_expect_eq(pace.firsts_ns[i], 10 * (i + 1), "step %ju", (uintmax_t)i + 1);
	struct pace later = { 0 };
	pace_note(&later, 5, 100);
	pace_note(&later, 6, 130);
	cr_expect_eq(later.firsts_ns[0], 30);
	pace_note(&later, 3, 10);
	cr_expect_eq(later.firsts_ns[0], 0, "what was taken for the first was not");
	pace_note(&later, 4, 40);
	cr_expect_eq(later.firsts_ns[0], 30);
	pace_note(&later, 5, 100);
	cr_expect_eq(later.firsts_ns[1], 60);
}
