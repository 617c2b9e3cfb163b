/* SPDX-License-Identifier: MIT */
/* Steps that took longer: whole jobs in which all pause, one rank holds the others up, or the first steps start up. */
#include <criterion/criterion.h>

#include "tests/unit/analysis/jobs/played.h"

static const struct history_job plain = {
	.ranks = 8, .steps = 60, .layers = 4, .compute_ms = 20, .jitter_ms = 2, .seed = 5
};

static struct analysis_step_course told_of(const struct history_job *job)
{
	struct analysis_step_course told;
	struct played played = play(job);

	analysis_tell_step_course(played.analysis, &told);
	end(&played);
	return told;
}

Test(step_course, an_even_job_has_no_long_step)
{
	struct analysis_step_course told = told_of(&plain);

	cr_assert_geq(told.known, 50);
	cr_expect_eq(told.first, 1, "steps are known from %ju on", (uintmax_t)told.first);
	cr_expect_eq(told.first_count, 0);
	cr_expect_eq(told.longs[0].count, 0);
	cr_expect_eq(told.longs[0].kept, 0);
}

Test(step_course, a_pause_of_all_ranks_is_their_own_work)
{
	struct history_job job = plain;

	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 20, .ms = 900, .every = 10 };
	struct analysis_step_course told = told_of(&job);

	cr_assert_geq(told.longs[0].count, 4);
	cr_assert_leq(told.longs[0].count, 5);
	cr_expect_eq(told.longs[0].kept, told.longs[0].count);
	cr_expect_eq(told.longs[0].every, 10);
	cr_expect_eq(told.longs[0].steps[0], 20, "the first is step %ju", (uintmax_t)told.longs[0].steps[0]);
	cr_expect(told.longs[0].ms > told.usual_ms + 800 && told.longs[0].ms < told.usual_ms + 1000, "%f ms, usual %f",
		  told.longs[0].ms, told.usual_ms);
	cr_expect(told.longs[0].parts[ANALYSIS_OWN] > 0.8, "own %f", told.longs[0].parts[ANALYSIS_OWN]);
	cr_expect(told.longs[0].parts[ANALYSIS_WAIT] < 0.1, "wait %f", told.longs[0].parts[ANALYSIS_WAIT]);
	double share = (double)told.longs[0].count * (told.longs[0].ms - told.usual_ms) /
		       ((double)told.known * told.usual_ms + (double)told.longs[0].count * 900);
	cr_expect_float_eq(told.longs[0].share, share, 0.03, "%f of the time, by hand %f", told.longs[0].share, share);
	cr_expect_eq(told.longs[0].operations, 0);
}

/* The same length, and no pause: with two ranks as with eight. */
Test(step_course, a_rank_that_holds_the_others_up_makes_them_wait)
{
	for (int ranks = 2; ranks <= 8; ranks += 6) {
		struct history_job job = plain;

		job.ranks = ranks;
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = 20, .ms = 900, .every = 10 };
		struct analysis_step_course told = told_of(&job);

		cr_assert_geq(told.longs[0].count, 4, "%d ranks", ranks);
		cr_expect(told.longs[0].parts[ANALYSIS_WAIT] > 0.4, "%d ranks: wait %f", ranks, told.longs[0].parts[ANALYSIS_WAIT]);
	}
}

Test(step_course, what_takes_longer_for_good_is_no_exception)
{
	struct history_job job = plain;

	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 20, .ms = 400 };
	cr_expect_eq(told_of(&job).longs[0].count, 0);
}

Test(step_course, the_start_is_over_when_steps_are_as_they_will_be)
{
	struct history_job job = plain;

	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 2, .last_step = 3, .ms = 700 };
	struct analysis_step_course told = told_of(&job);

	cr_expect_eq(told.first, 1);
	cr_expect_geq(told.first_count, 2);
	cr_expect_leq(told.first_count, 3);
	cr_expect(told.first_ms[1] > told.usual_ms + 500, "step 2 took %f ms", told.first_ms[1]);
	cr_expect_eq(told.longs[0].count, 0, "what belongs to the start is not told again");
}

Test(step_course, of_a_few_steps_nothing_is_told)
{
	struct history_job job = plain;

	job.steps = 8;
	struct analysis_step_course told = told_of(&job);

	cr_expect_eq(told.known, 0);
	cr_expect_eq(told.first, 0);
}

Test(step_course, where_steps_differ_by_themselves_none_is_long)
{
	struct history_job job = plain;

	job.noise_ms = 300;
	struct analysis_step_course told = told_of(&job);

	cr_assert(told.uneven, "half of the steps take %.0f to %.0f ms", told.quarter_ms[0], told.quarter_ms[1]);
	cr_expect_lt(told.quarter_ms[0], told.quarter_ms[1]);
	cr_expect_eq(told.longs[0].count, 0);
	cr_expect_eq(told.first, 0);
}
