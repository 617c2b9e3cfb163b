/* SPDX-License-Identifier: MIT */
/* What people take for failures, as the summary says it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/loss_text.h"
#include "collector/memory_text.h"

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

	expect_loss(&pipeline, "  loss       on ranks 6,7, where the pipeline ends: -1.0 or none elsewhere is normal; LOG_RANK=2 on node h31\n");
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
	const struct analysis_pipeline pipeline = { .pipelines = 1, .ranks = { 3 }, .rank_count = 1, .host = "h\033[31m", .local_rank = 3 };
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

	expect_memory(&flat, "  memory     of rank 3's GPU grew by 6.2 GiB up to step 2 and stayed for the 28 steps since: warm-up, no leak\n");
	flat.until_step = flat.steps = 0;
	expect_memory(&flat, "  memory     of rank 3's GPU grew by 6.2 GiB at first and stayed for the 60 s since: warm-up, no leak\n");
	expect_memory(&grows, "  memory     of rank 5's GPU grows by 0.20 GiB a step, 20.0 of 80.0 GiB are in use: full at step 410, if it goes on\n");
	grows.steps = grows.full_at_step = 0;
	expect_memory(&grows, "  memory     of rank 5's GPU grows by 6.00 GiB a minute, 20.0 of 80.0 GiB are in use: full in 10 min, if it goes on\n");
	expect_memory(&(struct analysis_gpu_memory){ .course = ANALYSIS_MEMORY_UNKNOWN }, "");
	flat.rank = -1;
	expect_memory(&flat, "");
}
