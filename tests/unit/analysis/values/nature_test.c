/* SPDX-License-Identifier: MIT */
/* Numerics or hardware: only what the evidence supports is said. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analysis/jobs/scanned.h"

enum { RANKS = 8, ELEMENTS = 4096, LEARNED = 60 };

struct job {
	struct scanned scanned;
	int world;
	unsigned int bring; /* ranks that bring a NaN into the next step's gradients, by bit */
	float scale[RANKS];
};

static void start(struct job *job)
{
	*job = (struct job){ 0 };
	scanned_start(&job->scanned, RANKS, RANKS);
	job->world = scanned_communicator(&job->scanned, "fsdp", RANKS, 0, 1);
	for (int i = 0; i < RANKS; i++)
		job->scale[i] = 1;
}

static void step(struct job *job)
{
	for (int i = 0; i < RANKS; i++)
		job->scanned.absmax[i] = job->scale[i] * (1 + (float)scanned_chance(&job->scanned, 100) / 300);
	scanned_call(&job->scanned, job->world,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_GATHER, .count = ELEMENTS });
	for (int i = 0; i < RANKS; i++)
		job->scanned.brings[i] = job->bring >> i & 1;
	job->bring = 0;
	for (uint64_t layer = 0; layer < 3; layer++)
		scanned_call(&job->scanned, job->world,
			     (struct scanned_call){ .function = RW_FUNCTION_REDUCE_SCATTER,
						    .reduction = RW_OPERATOR_SUM,
						    .count = ELEMENTS + layer });
	scanned_call(
	    &job->scanned, job->world,
	    (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .reduction = RW_OPERATOR_SUM, .count = 1 });
	memset(job->scanned.bad, 0, sizeof(job->scanned.bad));
	scanned_tick(&job->scanned, 200);
}

static void steps(struct job *job, int count)
{
	for (int i = 0; i < count; i++)
		step(job);
}

/* The newest that is NaN and open. */
static const struct scanned_told *nan_of(const struct job *job)
{
	const struct scanned_told *found = NULL;

	for (size_t i = 0; i < job->scanned.told_count; i++)
		if (job->scanned.told[i].kind == RW_KIND_NAN && job->scanned.told[i].state != RW_FINDING_CLOSED)
			found = &job->scanned.told[i];
	cr_assert(found, "nothing was told");
	return found;
}

static void expect_advice(const struct job *job, const char *advice)
{
	cr_expect(strstr(nan_of(job)->advice, advice), "%s: %s", nan_of(job)->text, nan_of(job)->advice);
}

Test(nature, one_rank_whose_values_left_the_others_six_steps_before_points_to_hardware)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	for (int i = 0; i < 6; i++) {
		job.scale[3] *= 8;
		step(&job);
	}
	job.bring = 1 << 3;
	steps(&job, 9);
	expect_advice(
	    &job,
	    "one rank of 8, 6 steps after its largest value left the others': hardware more likely than numerics");
	scanned_free(&job.scanned);
}

Test(nature, one_rank_alone_of_which_nothing_else_is_known_is_not_judged)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	job.bring = 1 << 3;
	steps(&job, 9);
	expect_advice(&job, "its data or its GPU?");
	cr_expect_not(strstr(nan_of(&job)->advice, "likely"), "%s", nan_of(&job)->advice);
	scanned_free(&job.scanned);
}

Test(nature, several_ranks_by_themselves_in_one_step_point_to_numerics)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	job.bring = 0x29;
	steps(&job, 9);
	expect_advice(&job, "3 of 8 ranks by themselves in the same step: numerics more likely than hardware");
	scanned_free(&job.scanned);
}

Test(nature, values_that_grow_on_all_ranks_point_to_numerics)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	for (int i = 0; i < RANKS; i++)
		job.scale[i] = 1e25f;
	steps(&job, 6);
	job.bring = 1 << 3;
	steps(&job, 9);
	expect_advice(&job,
		      "one rank of 8, while the largest values grow on 7 others: numerics more likely than hardware");
	scanned_free(&job.scanned);
}

Test(nature, what_the_GPU_says_itself_is_the_cause_and_nothing_is_guessed)
{
	struct analysis_gpu_event event = { .source = ANALYSIS_GPU_KERNEL_LOG, .xid = 48, .pci = "0003:10:00" };
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	event.at_ns = job.scanned.now_ns;
	cr_assert_eq(analysis_add_gpu_event(job.scanned.analysis, &event), 0);
	job.bring = 1 << 3;
	steps(&job, 9);
	cr_expect_eq(nan_of(&job)->finding.cause.class_, RW_CAUSE_GPU);
	cr_expect_not(strstr(nan_of(&job)->advice, "likely"), "%s", nan_of(&job)->advice);
	scanned_free(&job.scanned);
}

Test(nature, the_same_rank_alone_for_the_third_time_points_to_hardware_and_the_second_time_is_said)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	job.bring = 1 << 3;
	steps(&job, 9);
	job.bring = 1 << 3;
	steps(&job, 9);
	cr_expect_not(strstr(nan_of(&job)->advice, "likely"), "%s", nan_of(&job)->advice);
	cr_expect_str_eq(nan_of(&job)->evidence, "rank 3 made bad values before, in step 61, and was clean in between");
	job.bring = 1 << 3;
	steps(&job, 9);
	expect_advice(&job, "one rank of 8, the same 3 times in this run: hardware more likely than numerics");
	scanned_free(&job.scanned);
}

/* … and not where others made some in between. */
Test(nature, ranks_by_turns_point_to_nothing)
{
	struct job job;

	start(&job);
	steps(&job, LEARNED);
	for (int i = 0; i < 4; i++) {
		job.bring = 1u << i;
		steps(&job, 9);
	}
	cr_expect_not(strstr(nan_of(&job)->advice, "likely"), "%s", nan_of(&job)->advice);
	scanned_free(&job.scanned);
}
