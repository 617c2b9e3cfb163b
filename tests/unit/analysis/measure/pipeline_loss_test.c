/* SPDX-License-Identifier: MIT */
/* Which ranks log the loss of a pipeline, from whole jobs. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/pipelined.h"

static struct analysis_pipeline play(const struct pipelined_job *job, int steps)
{
	struct pipelined *pipelined = calloc(1, sizeof(*pipelined));
	struct analysis_pipeline told;

	pipelined_start(pipelined, job);
	for (int step = 1; step <= steps; step++)
		pipelined_step(pipelined);
	scanned_end(&pipelined->job);
	analysis_tell_pipeline(pipelined->job.analysis, &told);
	scanned_free(&pipelined->job);
	free(pipelined);
	return told;
}

Test(pipeline_loss, is_on_the_ranks_of_the_last_stage_and_nowhere_else)
{
	for (int stages = 2; stages <= 4; stages++)
		for (int microbatches = 4; microbatches <= 16; microbatches += 4) {
			const struct pipelined_job job = { .stages = stages, .width = 2, .microbatches = microbatches, .layers = 3,
							   .sharded = true, .norm = true, .loss = true };
			struct analysis_pipeline told = play(&job, 12);

			cr_assert_eq(told.pipelines, 2, "%d stages, %d micro-batches: %u pipelines", stages, microbatches, told.pipelines);
			cr_expect_eq(told.stages, stages);
			if (told.open) { /* two ranks that send four times each: may be a V */
				cr_expect(stages == 2 && microbatches == 4);
				cr_expect_eq(told.rank_count, 4);
				continue;
			}
			cr_assert_eq(told.rank_count, 2, "%d stages, %d micro-batches: %u ranks", stages, microbatches, told.rank_count);
			cr_expect_eq(told.ranks[0], 2 * (stages - 1));
			cr_expect_eq(told.ranks[1], 2 * (stages - 1) + 1);
			cr_expect_not(told.more);
		}
}

Test(pipeline_loss, is_not_told_while_nobody_knows_what_a_step_is)
{
	const struct pipelined_job job = { .stages = 4, .width = 2, .microbatches = 8, .layers = 3, .sharded = true,
					   .norm = true, .loss = true },
				   unnumbered = { .stages = 3, .width = 2, .microbatches = 4, .sharded = true };

	cr_expect_eq(play(&job, 1).pipelines, 0);
	cr_expect_eq(play(&unnumbered, 12).pipelines, 0);
}
