/* SPDX-License-Identifier: MIT */
/* Whether a job's steps have become longer for good: series of steps by themselves, and whole jobs. */
#include <criterion/criterion.h>

#include "analysis/measure/pace_course.h"
#include "tests/unit/analysis/jobs/noisy.h"
#include "tests/unit/analysis/jobs/played.h"

struct drawn_step {
	double step_ms, late_ms, wait_ms;
};

typedef struct drawn_step shape(int step, unsigned *seed);

static double drawn(unsigned *seed)
{
	return (double)rand_r(seed) / RAND_MAX;
}

static struct pace_course *course_of(shape *drawn_by, int steps)
{
	struct pace_course *course = calloc(1, sizeof(*course));
	unsigned seed = 4711;
	double at_ms = 1000;

	cr_assert(course);
	for (int step = 1; step <= steps; step++) {
		struct drawn_step drawn_step = drawn_by(step, &seed);

		pace_course_begin(course, 0, (uint64_t)step, (uint64_t)(at_ms * 1e6));
		pace_course_wait(course, (uint64_t)step, (uint64_t)(drawn_step.wait_ms * 1e6));
		pace_course_late(course, (uint64_t)step, (uint64_t)(drawn_step.late_ms * 1e6));
		at_ms += drawn_step.step_ms;
	}
	return course;
}

static struct analysis_pace told_of(shape *drawn_by, int steps)
{
	struct pace_course *course = course_of(drawn_by, steps);
	struct analysis_pace told = pace_course_judge(course);

	free(course);
	return told;
}

static struct drawn_step even(int step, unsigned *seed)
{
	(void)step;
	return (struct drawn_step){ 500 + 20 * drawn(seed), 5, 40 };
}

/* Sequences become longer: nobody is late, and with 10 % of noise. */
static struct drawn_step ramp(int step, unsigned *seed)
{
	return (struct drawn_step){ (500 + step) * (1 + 0.1 * drawn(seed)), 5, 40 };
}

static struct drawn_step warms_up(int step, unsigned *seed)
{
	return (struct drawn_step){ (step <= 12 ? 9000 - 600 * step : 500) + 20 * drawn(seed), 5, 40 };
}

/* Every tenth step, and every fiftieth for longer. */
static struct drawn_step pauses(int step, unsigned *seed)
{
	return (struct drawn_step){ 500 + 20 * drawn(seed) + (step % 10 == 0 ? 1500 : 0) + (step % 50 == 0 ? 20000 : 0),
				    5, 40 };
}

static struct drawn_step comes_and_goes(int step, unsigned *seed)
{
	return (struct drawn_step){ 500 + 20 * drawn(seed) + (step / 60 % 2 ? 200 : 0), 5, 40 };
}

static struct drawn_step becomes_faster(int step, unsigned *seed)
{
	return (struct drawn_step){ (step < 200 ? 700 : 500) + 20 * drawn(seed), 5, 40 };
}

/* By 4 %, and by 15 ms of 100. */
static struct drawn_step a_little_longer(int step, unsigned *seed)
{
	return (struct drawn_step){ (step < 200 ? 500 : 520) + 5 * drawn(seed), 5, 40 };
}

static struct drawn_step a_short_step_longer(int step, unsigned *seed)
{
	return (struct drawn_step){ (step < 200 ? 100 : 115) + 2 * drawn(seed), 5, 40 };
}

Test(pace_course, of_steps_that_differ_as_steps_do_nothing_is_said)
{
	shape *const shapes[] = { even,           ramp,           warms_up,        pauses,
				  comes_and_goes, becomes_faster, a_little_longer, a_short_step_longer };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (int steps = shapes[i] == comes_and_goes ? 200 : 60; steps <= 6000; steps += steps / 4) {
			struct analysis_pace told = told_of(shapes[i], steps);

			cr_expect_eq(told.course, ANALYSIS_PACE_STEADY,
				     "shape %zu, %d steps: %d, %.0f ms after %.0f since %ju", i, steps, told.course,
				     told.now_ms, told.before_ms, (uintmax_t)told.since_step);
			cr_expect_eq(told.since_step, 0);
		}
}

Test(pace_course, of_a_few_steps_nothing_is_known)
{
	cr_expect_eq(told_of(even, PACE_COURSE_LEAST + 1).course, ANALYSIS_PACE_UNKNOWN, "the last two are not over");
	cr_expect_eq(told_of(even, PACE_COURSE_LEAST + 2).course, ANALYSIS_PACE_STEADY);
}

static struct drawn_step longer_since_1000(int step, unsigned *seed)
{
	return (struct drawn_step){ (step < 1000 ? 500 : 620) + 20 * drawn(seed) + (step % 50 == 0 ? 3000 : 0), 5, 40 };
}

Test(pace_course, a_level_that_lasts_is_told_with_its_first_step)
{
	for (int steps = 1040; steps <= 1900; steps += 40) {
		struct analysis_pace told = told_of(longer_since_1000, steps);

		cr_assert_eq(told.course, ANALYSIS_PACE_LONGER, "%d steps: %d", steps, told.course);
		cr_expect(told.since_step >= 990 && told.since_step <= 1010, "%d steps: %ju", steps, (uintmax_t)told.since_step);
		cr_expect_float_eq(told.before_ms, 510, 5);
		cr_expect_float_eq(told.now_ms, 630, 5);
		cr_expect_eq(told.ms_per_step, 0);
		cr_expect_lt(told.late_share, 0.05);
		cr_expect_eq(told.wait_ms_per_step, 0);
	}
}

/* As the design has it, of 2 s and 12 ms; the wait is one of all ranks for one. */
static struct drawn_step grows_since_1812(int step, unsigned *seed)
{
	double late_ms = step < 1812 ? 0 : 12 * (step - 1811);

	return (struct drawn_step){ 2000 + 60 * drawn(seed) + late_ms + (step % 100 == 0 ? 8000 : 0), 5 + late_ms,
				    40 + late_ms };
}

Test(pace_course, growth_is_told_with_its_slope_and_its_first_step)
{
	for (int steps = 1862; steps <= 3600; steps += steps < 2000 ? 20 : 150) {
		struct analysis_pace told = told_of(grows_since_1812, steps);
		double end_ms = 12 * (double)(told.step - 1811);

		cr_assert_eq(told.course, ANALYSIS_PACE_GROWS, "%d steps: %d", steps, told.course);
		/* Of what is long ago it is known within blocks of 9 and 27 steps. */
		cr_expect(told.since_step >= 1800 && told.since_step <= (steps < 3000 ? 1824 : 1840), "%d steps: %ju", steps,
			  (uintmax_t)told.since_step);
		cr_expect_float_eq(told.ms_per_step, 12, 0.4, "%d steps: %f", steps, told.ms_per_step);
		cr_expect_float_eq(told.before_ms, 2030, 10);
		cr_expect_float_eq(told.now_ms, 2030 + end_ms, 30);
		cr_expect_gt(told.late_share, 0.9);
		cr_expect_float_eq(told.wait_ms_per_step, 12, 0.2);
		cr_expect_float_eq(told.wait_ms, 40 + end_ms, 30);
	}
}

static struct drawn_step grows_from_the_start(int step, unsigned *seed)
{
	return (struct drawn_step){ 500 + 20 * drawn(seed) + 6 * step, 5 + 6 * step, 40 + 6 * step };
}

/* Unlike a ramp, of which the late rank makes the difference. */
Test(pace_course, growth_from_the_first_step_on_is_told_where_a_rank_is_late)
{
	for (int steps = 150; steps <= 1500; steps += 150) {
		struct analysis_pace told = told_of(grows_from_the_start, steps);

		cr_assert_eq(told.course, ANALYSIS_PACE_GROWS, "%d steps: %d", steps, told.course);
		cr_expect_leq(told.since_step, 24);
		cr_expect_float_eq(told.ms_per_step, 6, 0.3);
	}
}

static struct drawn_step grew_for_200(int step, unsigned *seed)
{
	double late_ms = step < 400 ? 0 : step < 600 ? 5 * (step - 399) : 1000;

	return (struct drawn_step){ 500 + 20 * drawn(seed) + late_ms, 5 + late_ms, 40 + late_ms };
}

Test(pace_course, what_has_grown_and_stays_leads_nowhere)
{
	struct analysis_pace grown = told_of(grew_for_200, 900);

	cr_expect_eq(told_of(grew_for_200, 580).course, ANALYSIS_PACE_GROWS);
	cr_expect_neq(grown.course, ANALYSIS_PACE_GROWS);
	cr_expect_eq(grown.wait_ms_per_step, 0);
}

static struct drawn_step all_grow(int step, unsigned *seed)
{
	double more_ms = step < 400 ? 0 : 5 * (step - 399);

	return (struct drawn_step){ 500 + 20 * drawn(seed) + more_ms, 5, 40 };
}

Test(pace_course, growth_of_all_ranks_together_leads_to_no_watchdog)
{
	struct analysis_pace told = told_of(all_grow, 500);

	cr_expect_eq(told.course, ANALYSIS_PACE_GROWS);
	cr_expect_float_eq(told.ms_per_step, 5, 0.3);
	cr_expect_lt(told.late_share, 0.05);
	cr_expect_eq(told.wait_ms_per_step, 0);
}

Test(pace_course, holds_a_day_in_bounds_and_in_order)
{
	struct pace_course *course = course_of(even, 400000);
	uint32_t sum = 0;

	for (int i = 0; i < PACE_COURSE_LENGTHS; i++)
		sum += course->counts[i];
	cr_assert_eq(sum, course->count);
	cr_assert_leq(course->count, PACE_COURSE_ROOM);
	for (uint32_t i = 1; i < course->count; i++) {
		const struct pace_block *one = &course->blocks[i - 1], *next = one + 1;

		cr_assert_eq(one->step + one->steps, next->step, "block %u", i);
		cr_assert_geq(one->steps, next->steps);
		cr_assert(one->step_ms >= 500 && one->step_ms <= 520);
	}
	cr_expect_eq(course->blocks[course->count - 1].step, 400000 - 2);
	cr_expect_geq(course->counts[0], PACE_COURSE_BLOCKS);
	free(course);
}

Test(pace_course, steps_that_are_numbered_anew_begin_anew)
{
	struct pace_course *course = course_of(even, 300);

	pace_course_begin(course, 1, 5, 900000000);
	cr_expect_eq(course->count, 0);
	cr_expect_eq(course->newest, 5);
	pace_course_begin(course, 1, 6, 950000000);
	pace_course_begin(course, 1, 4, 960000000);
	cr_expect_eq(course->newest, 6, "one that is told late is none");
	free(course);
}

Test(pace_course, a_step_that_nobody_saw_is_left_out)
{
	struct pace_course course = { 0 };

	for (uint64_t step = 1; step <= 9; step++)
		if (step != 5)
			pace_course_begin(&course, 0, step, step * 1000000);
	cr_assert_eq(course.count, 5, "%u", course.count);
	cr_expect_eq(course.blocks[2].step, 3);
	cr_expect_eq(course.blocks[3].step, 6);
}

/* Whole jobs */

static const struct history_job plain = {
	.ranks = 4, .steps = 400, .layers = 2, .compute_ms = 125, .jitter_ms = 5, .seed = 7
};

/* The last word of it. */
static const struct history_finding *last_finding(const struct played *played)
{
	return played->count ? &played->findings[played->count - 1] : NULL;
}

/* 2 s until step 1,800, then 12 ms more in each: the wait reaches 100 s some 8,330 steps later. */
Test(pace_course, a_log_that_slows_down_is_foreseen, .timeout = 240)
{
	struct history_job job = plain;
	struct analysis_pace told;

	job.steps = 2000;
	job.compute_ms = 500;
	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST,
						.rank = 0,
						.first_step = 1800,
						.ms = 12,
						.more_ms = 12,
						.evidence = EVIDENCE_FSYNC_WRITER };
	struct played played = play(&job);
	const struct history_finding *last = last_finding(&played);
	double reached = 1800 + 100000 / 12.0;

	analysis_tell_pace(played.analysis, &told);
	cr_assert_eq(told.course, ANALYSIS_PACE_GROWS);
	cr_expect(told.since_step >= 1790 && told.since_step <= 1815, "%ju", (uintmax_t)told.since_step);
	cr_expect_float_eq(told.ms_per_step, 12, 0.4, "%f", told.ms_per_step);
	cr_expect_gt(told.late_share, 0.8, "%f", told.late_share);
	cr_expect_eq(told.watchdog_ms, 100000);
	cr_expect_str_eq(told.watchdog_from, "RANKWATCH_TIMEOUT");
	cr_expect_float_eq((double)told.watchdog_step, reached, 0.03 * reached, "%ju", (uintmax_t)told.watchdog_step);
	double steps = (double)(told.watchdog_step - told.step),
	       seconds = steps * (told.now_ms + told.ms_per_step * steps / 2) / 1e3;
	cr_expect_float_eq(told.watchdog_in_s, seconds, 0.01 * seconds);

	cr_assert(last);
	cr_expect_eq(last->kind, RW_KIND_STRAGGLER);
	cr_expect_eq(last->rank, 0);
	cr_expect_eq(last->rank_count, 1);
	cr_expect_eq(last->class_, RW_CAUSE_IO);
	cr_expect_float_eq((double)last->reached_step, reached, 0.05 * reached, "%ld", last->reached_step);
	cr_expect_float_eq(last->wait_grows_ms, 12, 0.6, "%f", last->wait_grows_ms);
	cr_expect_gt(last->reached_in_ms, 0);
	end(&played);
}

/* … is the shortest that is known. */
Test(pace_course, the_watchdog_that_is_reached)
{
	struct history_job job = plain;
	struct analysis_pace told;

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = 300, .ms = 10, .more_ms = 10 };
	job.watchdog_ms[2] = 30000;
	struct played played = play(&job);
	analysis_tell_pace(played.analysis, &told);
	cr_expect_eq(told.watchdog_ms, 30000);
	cr_expect_float_eq((double)told.watchdog_step, 300 + 3000, 120, "%ju", (uintmax_t)told.watchdog_step);
	end(&played);

	for (int i = 0; i < 4; i++)
		job.watchdog_ms[i] = -1;
	played = play(&job);
	analysis_tell_pace(played.analysis, &told);
	cr_expect_eq(told.course, ANALYSIS_PACE_GROWS);
	cr_expect_eq(told.watchdog_step, 0, "none is known");
	end(&played);

	/* 100 times as far as growth was seen for, and no farther. */
	for (int i = 0; i < 4; i++)
		job.watchdog_ms[i] = 200000;
	played = play(&job);
	analysis_tell_pace(played.analysis, &told);
	cr_expect_eq(told.watchdog_step, 0, "%ju", (uintmax_t)told.watchdog_step);
	end(&played);
}

Test(pace_course, all_ranks_together_are_slower_and_nobody_is_named)
{
	struct history_job job = plain;
	struct analysis_pace told;

	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 250, .ms = 120 };
	struct played played = play(&job);

	analysis_tell_pace(played.analysis, &told);
	cr_assert_eq(told.course, ANALYSIS_PACE_LONGER);
	cr_expect(told.since_step >= 247 && told.since_step <= 253, "%ju", (uintmax_t)told.since_step);
	cr_expect_float_eq(told.now_ms - told.before_ms, 120, 5);
	cr_expect_lt(told.late_share, 0.1);
	cr_expect_eq(told.watchdog_step, 0);
	cr_expect_eq(played.count, 0);
	end(&played);
}

Test(pace_course, a_checkpoint_or_a_start_up_is_no_change)
{
	struct history_job job = plain;
	struct analysis_pace told;

	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 1, .last_step = 8, .ms = 4000 };
	job.faults[1] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 20, .ms = 3000, .every = 10 };
	struct played played = play(&job);

	analysis_tell_pace(played.analysis, &told);
	cr_expect_eq(told.course, ANALYSIS_PACE_STEADY, "%d", told.course);
	end(&played);
}

/* A device that is late costs as much, and its finding has the forecast, too; one that was late and is no more has
 * none. */
Test(pace_course, a_finding_has_the_forecast_only_where_it_explains_the_growth)
{
	struct history_job job = plain;

	job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 1, .first_step = 300, .ms = 60 };
	struct played played = play(&job);

	cr_assert(played.count);
	for (size_t i = 0; i < played.count; i++)
		cr_expect_eq(played.findings[i].reached_step, 0, "what does not grow reaches nothing");
	end(&played);
}

/* In noise, two jobs: a rank that is later by 12 ms with each step, and all ranks that take 100 ms longer. */
Test(pace_course, is_known_soon_in_noise)
{
	for (unsigned seed = 0; seed < 16; seed++) {
		bool all = seed % 2;
		struct noisy_job job = { .ranks = 8,
					 .ranks_per_host = 8,
					 .steps = 200,
					 .step_ms = 500,
					 .noise = 0.02,
					 .lasts = seed / 2 % 2 ? 0.8 : 0,
					 .seed = seed,
					 .fault_step = 100,
					 .fault_ms = all ? 100 : 12,
					 .pattern = all ? NOISY_ALL : NOISY_GROWS };
		struct noisy_result result;

		noisy_play(&job, &result);
		cr_expect(result.slower_step > 100 && result.slower_step <= 160, "seed %u: in step %d", seed, result.slower_step);
		cr_expect_eq(result.pace.course, all ? ANALYSIS_PACE_LONGER : ANALYSIS_PACE_GROWS, "seed %u", seed);
		cr_expect(result.pace.since_step >= 90 && result.pace.since_step <= 110, "seed %u: since %ju", seed,
			  (uintmax_t)result.pace.since_step);
		cr_expect(all ? result.pace.late_share < 0.25 : result.pace.late_share > 0.75, "seed %u: %f", seed,
			  result.pace.late_share);
		cr_log_info("seed %u: %s by step %d", seed, all ? "all together" : "one rank", result.slower_step);
	}
}

/* Steps are counted by the first process until those of the first member are known, and by that one from then on. */
Test(pace_course, goes_on_when_another_process_lends_the_steps)
{
	struct history_job job = plain;
	struct analysis_summary summary;
	struct analysis_pace told;

	job.swapped = true;
	job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 250, .ms = 120 };
	struct played played = play(&job);

	analysis_summarise(played.analysis, &summary);
	cr_expect_float_eq(summary.step_ms, 642, 10, "%f", summary.step_ms);
	analysis_tell_pace(played.analysis, &told);
	cr_expect_eq(told.course, ANALYSIS_PACE_LONGER, "%d", told.course);
	cr_expect_gt(told.known, 380);
	end(&played);
}

/* What acquits a straggler is counted by the same steps. */
Test(pace_course, a_straggler_is_acquitted_when_another_process_lends_the_steps)
{
	struct history_job job = plain;

	job.steps = 120;
	job.swapped = true;
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 2, .first_step = 40, .last_step = 70, .ms = 200, .evidence = EVIDENCE_FSYNC
	};
	struct played played = play(&job);

	cr_assert_geq(played.count, 2);
	cr_expect_eq(played.findings[0].state, RW_FINDING_OPEN);
	cr_expect_eq(played.findings[played.count - 1].state, RW_FINDING_CLOSED);
	end(&played);
}
