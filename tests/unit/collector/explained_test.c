/* SPDX-License-Identifier: MIT */
/* What people take for failures, as the summary says it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/course_text.h"
#include "protocol/explanation.h"
#include "protocol/loss_text.h"
#include "protocol/memory_text.h"
#include "protocol/pace_text.h"

static char *printed(void (*print)(FILE *out, const char *before, int label, const json_t *value), json_t *value)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(value);
	print(out, "  ", 11, value);
	fclose(out);
	json_decref(value);
	return text;
}

static void expect_loss(const struct analysis_pipeline *pipeline, const char *line)
{
	char *text = printed(loss_text_print, loss_text_json(pipeline));

	cr_expect_str_eq(text, line);
	free(text);
}

Test(explained, the_loss_is_told_with_the_number_that_filters_a_log)
{
	struct analysis_pipeline pipeline = { .pipelines = 2, .stages = 4, .ranks = { 6, 7 }, .rank_count = 2, .host = "h31",
					      .local_rank = 2 };

	expect_loss(&pipeline, "  loss       on ranks 6,7, where the pipeline ends: -1.0 or none elsewhere is normal; "
			       "LOG_RANK=2 on node h31\n");
	pipeline.likely = true;
	pipeline.local_rank = -1;
	pipeline.rank_count = 1;
	expect_loss(&pipeline, "  loss       on rank 6, where the pipeline ends (likely): -1.0 or none elsewhere is normal\n");
	pipeline.open = true;
	pipeline.rank_count = 2;
	expect_loss(&pipeline, "  loss       at one end of the pipeline, among ranks 6,7: -1.0 or none elsewhere is normal\n");
	pipeline.ranks[0] = -1;
	expect_loss(&pipeline, "");
	expect_loss(&(struct analysis_pipeline){ .local_rank = -1 }, "");
}

Test(explained, a_host_s_name_moves_no_cursor)
{
	const struct analysis_pipeline pipeline = {
		.pipelines = 1, .ranks = { 3 }, .rank_count = 1, .host = "h\033[31m", .local_rank = 3
	};
	char *text = printed(loss_text_print, loss_text_json(&pipeline));

	cr_expect_not(strchr(text, '\033'), "%s", text);
	free(text);
}

static void expect_memory(const struct analysis_gpu_memory *memory, const char *line)
{
	char *text = printed(memory_text_print, memory_text_json(memory));

	cr_expect_str_eq(text, line);
	free(text);
}

Test(explained, memory_that_stays_is_warm_up_and_memory_that_grows_has_an_end)
{
	const int64_t gib = INT64_C(1) << 30;
	struct analysis_gpu_memory flat = { .course = ANALYSIS_MEMORY_FLAT, .rank = 3, .used = 21 * gib, .total = 80 * gib,
					    .grown = 31 * gib / 5, .until_step = 2, .steps = 28, .seconds = 60 },
				   grows = { .course = ANALYSIS_MEMORY_GROWS, .rank = 5, .used = 20 * gib, .total = 80 * gib, .until_step = 10,
					     .steps = 100, .seconds = 200, .bytes_per_s = (double)gib / 10, .full_in_s = 600, .full_at_step = 410 };

	expect_memory(&flat, "  memory     of rank 3's GPU grew by 6.2 GiB up to step 2 and stayed for the 28 steps "
			     "since: warm-up, no leak\n");
	flat.until_step = flat.steps = 0;
	expect_memory(
	    &flat,
	    "  memory     of rank 3's GPU grew by 6.2 GiB at first and stayed for the 60 s since: warm-up, no leak\n");
	expect_memory(&grows, "  memory     of rank 5's GPU grows by 0.20 GiB a step, 20.0 of 80.0 GiB are in use: "
			      "full at step 410, if it goes on\n");
	grows.steps = grows.full_at_step = 0;
	expect_memory(&grows, "  memory     of rank 5's GPU grows by 6.00 GiB a minute, 20.0 of 80.0 GiB are in use: "
			      "full in 10 min, if it goes on\n");
	expect_memory(&(struct analysis_gpu_memory){ .course = ANALYSIS_MEMORY_UNKNOWN }, "");
	flat.rank = -1;
	expect_memory(&flat, "");
}

static void expect_course(const struct analysis_step_course *course, const char *lines)
{
	char *text = printed(course_text_print, course_text_json(course));

	cr_expect_str_eq(text, lines);
	free(text);
}

Test(explained, steps_that_take_longer_are_told_with_what_they_went_to)
{
	struct analysis_step_course course = { .known = 60,
					       .usual_ms = 510,
					       .quarter_ms = { 500, 530 },
					       .first = 1,
					       .first_ms = { 2310, 700 },
					       .first_count = 2 };
	struct analysis_long_steps *pauses = &course.longs[0], *evaluations = &course.longs[1];

	expect_course(&course, "  start      step 1 took 2.31 s from its first operation on, step 2 0.70 s; from step "
			       "3 on it is the usual 0.51 s: start-up, no slowdown\n"
			       "  steps      none of 60 stands out: the usual is 0.51 s\n");
	course.first_count = 0;
	*pauses = (struct analysis_long_steps){
		.count = 2, .steps = { 20, 47 }, .kept = 2, .ms = 1900, .parts = { [ANALYSIS_OWN] = 0.9 }
	};
	*evaluations = (struct analysis_long_steps){ .count = 6,
						     .steps = { 10, 20, 30, 40, 50, 60 },
						     .kept = 6,
						     .every = 10,
						     .ms = 1200,
						     .parts = { [ANALYSIS_OWN] = 0.7 },
						     .operations = 96 };
	expect_course(&course, "  long       steps 20, 47 took 1.90 s instead of 0.51 s: all ranks together, in work "
			       "of their own, and none waited for "
			       "another: the program, no failure\n"
			       "  long       steps 30, 40, 50, 60 and 2 before (every 10) took 1.20 s instead of 0.51 "
			       "s: all ranks together, each with 96 "
			       "operations or more that other steps lack: the program, no failure\n");
	course.first = 0;
	evaluations->count = 0;
	pauses->parts[ANALYSIS_OWN] = 0.6;
	pauses->parts[ANALYSIS_WAIT] = 0.3;
	expect_course(&course, "  long       steps 20, 47 took 1.90 s instead of 0.51 s: for 30 % of what is beyond "
			       "that ranks waited for others: no pause of all\n");
	pauses->parts[ANALYSIS_OWN] = 0.4;
	pauses->parts[ANALYSIS_WAIT] = 0.1;
	expect_course(&course, "  long       steps 20, 47 took 1.90 s instead of 0.51 s: what they did is not seen\n");
	course.uneven = true;
	expect_course(&course, "  steps      differ too much to say which are long: half of 60 took 0.50 to 0.53 s\n");
}

/* Who looks for the cause of something else is told of pauses alone, and of none where a rank was late. */
Test(explained, beside_a_finding_stand_pauses_of_all_ranks_and_no_others)
{
	struct analysis_step_course course = {
		.known = 60, .usual_ms = 510, .first = 1, .first_ms = { 2310 }, .first_count = 1
	};

	course.longs[0] = (struct analysis_long_steps){
		.count = 2, .steps = { 20, 47 }, .kept = 2, .ms = 1900, .parts = { [ANALYSIS_OWN] = 0.9 }
	};
	course.longs[1] = (struct analysis_long_steps){ .count = 1,
							.steps = { 33 },
							.kept = 1,
							.ms = 900,
							.parts = { [ANALYSIS_OWN] = 0.5, [ANALYSIS_WAIT] = 0.5 } };
	for (int uneven = 0; uneven < 2; uneven++) {
		course.uneven = uneven;
		char *text = printed(course_text_print_pauses, course_text_json(&course));

		cr_expect_str_eq(text, uneven ? ""
					      : "  long       steps 20, 47 took 1.90 s instead of 0.51 s: all ranks "
						"together, in work of their own, and none "
						"waited for another: the program, no failure\n");
		free(text);
	}
}

Test(explained, beside_a_finding_nothing_is_said_of_what_the_job_has_not_shown)
{
	const struct analysis_pipeline pipeline = { .pipelines = 1, .ranks = { 3 }, .rank_count = 1, .local_rank = -1 };
	json_t *loss = loss_text_json(&pipeline);
	char *text = printed(explanation_print_shown,
			     json_pack("{s:b, s:o, s:n, s:n}", "sends", true, "loss", loss, "gpu_memory", "steps"));

	cr_expect_str_eq(text, "  loss       on rank 3, where the pipeline ends: -1.0 or none elsewhere is normal\n");
	free(text);
}

static void expect_pace(const struct analysis_pace *pace, const char *line)
{
	char *text = printed(pace_text_print, pace_text_json(pace));

	cr_expect_str_eq(text, line, "%s", text);
	free(text);
}

Test(explained, steps_that_become_longer_are_told_and_where_they_lead)
{
	struct analysis_pace pace = { .course = ANALYSIS_PACE_GROWS,
				      .known = 1912,
				      .since_step = 1812,
				      .step = 1912,
				      .before_ms = 2000,
				      .now_ms = 3212,
				      .ms_per_step = 12,
				      .late_share = 0.97 };

	expect_pace(&pace, "  slower     a step took 2.00 s until step 1812, and since then each takes 12 ms longer "
			   "than the one before: 3.21 s in step 1912; "
			   "of what was added, 97 % is waiting for a late rank\n");
	pace.late_share = 0.6;
	pace.since_step = 0;
	pace.ms_per_step = 3.25;
	pace.before_ms = 510;
	pace.wait_ms = 1240;
	pace.wait_ms_per_step = 3.1;
	pace.watchdog_ms = 100000;
	snprintf(pace.watchdog_from, sizeof(pace.watchdog_from), "RANK\033WATCH");
	pace.watchdog_step = 33768;
	pace.watchdog_in_s = 50400;
	expect_pace(
	    &pace,
	    "  slower     a step took 510 ms at first, and since then each takes 3.2 ms longer than the one before: "
	    "3.21 s in step 1912; "
	    "of what was added, 60 % is waiting for a late rank. The longest wait is 1.2 s of the watchdog's 100 s "
	    "(RANK\\x1bWATCH), and 3.1 ms longer in each step: the limit is reached at step 33768, in 14 h, if it goes "
	    "on\n");
	pace = (struct analysis_pace){ .course = ANALYSIS_PACE_LONGER,
				       .known = 400,
				       .since_step = 250,
				       .step = 400,
				       .before_ms = 510,
				       .now_ms = 590 };
	expect_pace(&pace, "  slower     a step takes 590 ms since step 250, and took 510 ms before; no rank is later "
			   "than before: all together take "
			   "longer, as with longer inputs\n");
	pace.late_share = 0.4;
	expect_pace(&pace, "  slower     a step takes 590 ms since step 250, and took 510 ms before\n");
	pace.course = ANALYSIS_PACE_STEADY;
	expect_pace(&pace, "");
	pace.course = ANALYSIS_PACE_UNKNOWN;
	expect_pace(&pace, "");
}

Test(explained, how_long_it_takes_to_the_watchdog_is_said_in_fitting_units)
{
	static const struct {
		double s;
		const char *said;
	} cases[] = { { 45, "in 45 s," },      { 119, "in 119 s," }, { 120, "in 2 min," },
		      { 7199, "in 120 min," }, { 7200, "in 2 h," },  { 180000, "in 2 days," } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct analysis_pace pace = { .course = ANALYSIS_PACE_GROWS,
					      .watchdog_ms = 100000,
					      .watchdog_step = 9,
					      .watchdog_in_s = cases[i].s };
		char *text = printed(pace_text_print, pace_text_json(&pace));

		cr_expect(strstr(text, cases[i].said), "%s", text);
		free(text);
	}
}

/* true, false or nobody knows: what programs decide by. */
Test(explained, programs_read_whether_a_long_step_is_normal)
{
	static const struct {
		double own, wait, transfer;
		json_type normal;
	} cases[] = { { 0.9, 0.1, 0, JSON_TRUE },
		      { 0.6, 0.3, 0, JSON_FALSE },
		      { 0.2, 0, 0.7, JSON_FALSE },
		      { 0.3, 0.1, 0.2, JSON_NULL } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct analysis_step_course course = { .known = 60, .usual_ms = 510 };

		course.longs[0] = (struct analysis_long_steps){ .count = 1,
								.steps = { 20 },
								.kept = 1,
								.ms = 1900,
								.parts = { [ANALYSIS_OWN] = cases[i].own,
									   [ANALYSIS_WAIT] = cases[i].wait,
									   [ANALYSIS_TRANSFER] = cases[i].transfer } };
		json_t *told = course_text_json(&course);

		cr_expect_eq(json_typeof(json_object_get(json_array_get(json_object_get(told, "long"), 0), "normal")),
			     cases[i].normal, "case %zu", i);
		json_decref(told);
	}
}

/* Of a job that shows nothing each line says so, and of boxes why. */
Test(explained, what_is_not_known_is_said)
{
	struct analysis *analysis = analysis_new(false, NULL, NULL);
	json_t *told = explanation_json(analysis);

	for (int live = 0; live < 2; live++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		explanation_print(out, "", 10, told, live);
		fclose(out);
		cr_expect(strstr(text, "loss      no rank sends to another"), "%s", text);
		cr_expect_eq(strstr(text, "memory    not known: no collector") != NULL, !live, "%s", text);
		cr_expect_eq(strstr(text, "memory    nothing is known of any GPU's memory yet") != NULL, live, "%s", text);
		cr_expect(strstr(text, "steps     too few steps have numbers"), "%s", text);
		free(text);
	}
	json_decref(told);
	analysis_free(analysis);
}
