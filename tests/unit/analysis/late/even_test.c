/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <rankwatch/finding.h>


#include "tests/unit/analysis/jobs/even.h"
#include "tests/unit/analysis/jobs/seeds.h"

/* Eight ranks, 160 operations of a millisecond and a bit in a step. */
static struct even_job tensor_parallel(unsigned seed)
{
	return (struct even_job){ .ranks = 8, .operations = 160, .compute_ms = 1, .jitter = 0.02, .slow_rank = -1,
				  .seconds = 130, .seed = seed };
}

static struct even_result play(const struct even_job *job)
{
	struct even_result result;

	even_play(job, &result);
	cr_expect_eq(result.wrong, 0, "seed %u: %s", job->seed, result.wrong_text);
	return result;
}

Test(even, a_gpu_that_is_evenly_slow_by_a_tenth_is_named_with_its_share)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.1;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_leq(result.found_s, 120, "seed %u: %f", seed, result.found_s);
		cr_expect_float_eq(result.share, 0.1 / 1.15, 0.03, "seed %u: %f", seed, result.share);
		cr_expect(result.spread_out && result.likely);
	}
}

/* 40 ms before each operation: so few reads of the GPU page add little noise. */
static struct even_job longer_work(unsigned seed)
{
	return (struct even_job){ .ranks = 8,
				  .operations = 20,
				  .compute_ms = 40,
				  .jitter = 0.005,
				  .noise = 0.005,
				  .lasts = 0.5,
				  .slow_rank = -1,
				  .seconds = 130,
				  .seed = seed };
}

/* The others differ by little, so that the time by which this one works longer is no difference of that kind. */
Test(even, a_gpu_that_is_evenly_slow_by_a_fiftieth_is_named_within_two_minutes)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = longer_work(seed);
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.02;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_leq(result.found_s, 120, "seed %u: %f", seed, result.found_s);
		cr_expect_float_eq(result.share, 0.02, 0.006, "seed %u: %f", seed, result.share);
	}
}

/* 0.74 % of a step are a median absolute deviation of 0.5 %. Each odd one is late before one operation of each step,
 * which shows it. Of 40 such jobs three are not found in time: 19, 22 and 32. */
Test(even, a_rank_that_is_slow_by_a_fiftieth_is_named_among_noise_that_does_not_last)
{
	static const unsigned numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	for (unsigned i = 0; i < seeds(sizeof(numbers) / sizeof(*numbers)); i++) {
		struct even_job job = longer_work(numbers[i]);
		job.ranks = 16;
		job.noise = 0.0074;
		job.slow_rank = (int)(numbers[i] % 16);
		if (numbers[i] % 2) {
			job.stall_every = job.operations;
			job.stall_ms = 0.02 * job.operations * job.compute_ms;
		} else {
			job.slow = 0.02;
		}
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "job %u", numbers[i]);
		cr_expect_leq(result.found_s, 120, "job %u: %f", numbers[i], result.found_s);
	}
}

/* Where ranks differ for good by 1 %, one that works longer than the others by 2 % is one of these. */
Test(even, a_rank_that_differs_no_more_than_ranks_do_is_not_named)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = longer_work(seed);
		job.differences = 0.01;
		job.slow_rank = (int)(seed % 8);
		job.slow = 0.01;
		cr_expect_eq(play(&job).found, 0, "seed %u", seed);
	}
}

Test(even, a_slow_rank_is_named_and_no_other_of_its_group_in_a_mesh)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.tensor_parallel = seed % 2 ? 2 : 4;
		job.slow_rank = (int)(seed * 3 % 8);
		job.slow = 0.2;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
	}
}

/* Before one operation in 24 the host does something else for 40 ms; sizes vary, and nothing repeats. */
Test(even, needs_no_steps)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.no_steps = job.host = true;
		job.compute_ms = 5;
		job.slow_rank = (int)(seed % 8);
		job.stall_every = 24;
		job.stall_ms = 40;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u", seed);
		cr_expect_float_eq(result.share, 40 / (24 * 5.1 + 40), 0.04, "seed %u: %f", seed, result.share);
		cr_expect_not(result.spread_out);
	}
}

/* Most of what it is late by is too little in each operation to tell whose it is. Of the rest its GPU's part is smaller
 * than its host's, in the second job larger. */
Test(even, the_smaller_part_of_a_lateness_is_not_called_its_kind)
{
	static const struct {
		int stall_device, late_kind;
	} cases[] = { { 3, RW_LATE_NONE }, { 1, RW_LATE_DEVICE } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct even_job job = tensor_parallel(3);
		job.slow_rank = 2;
		job.slow = 0.2;
		job.stall_every = 200;
		job.stall_ms = 15;
		job.host = true;
		job.stall_device = cases[i].stall_device;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0);
		cr_expect_eq(result.late_kind, cases[i].late_kind, "%zu: %d", i, result.late_kind);
	}
}

/* Four stages, four replicas. */
static struct even_job pipeline(unsigned seed)
{
	return (struct even_job){ .ranks = 16, .stages = 4, .operations = 8, .compute_ms = 40, .jitter = 0.02,
				  .slow_rank = -1, .seconds = 200, .seed = seed };
}

Test(even, a_stage_is_compared_with_the_same_stage_of_the_other_replicas)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline(seed);
		job.slow_rank = (int)(seed * 5 % 16);
		job.slow = 0.5;
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u, rank %d", seed, job.slow_rank);
	}
}

/* Steps take 2.2 s. A rank that is slow from the first step on has no past to be compared with, but replicas. */
static struct even_job pipeline_of_long_steps(unsigned seed)
{
	struct even_job job = pipeline(seed);

	job.compute_ms = 200;
	job.noise = 0.005;
	job.lasts = 0.5;
	job.seconds = 145;
	return job;
}

Test(even, a_stage_that_is_slow_from_the_first_step_is_named_within_sixty_steps)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline_of_long_steps(seed);
		job.slow_rank = (int)(seed * 5 % 16);
		if (seed % 2) {
			job.stall_every = job.operations;
			job.stall_ms = 140;
		} else {
			job.slow = 0.09;
		}
		struct even_result result = play(&job);
		cr_expect_gt(result.found, 0, "seed %u, rank %d", seed, job.slow_rank);
	}
}

Test(even, long_steps_of_healthy_pipelines_name_nobody)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline_of_long_steps(seed);
		job.uneven = seed % 2 ? 0.6 : 0;
		job.differences = 0.02;
		job.noise = 0.03;
		job.lasts = 0.9;
		play(&job);
	}
}

Test(even, uneven_stages_are_no_fault)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = pipeline(seed);
		job.uneven = 0.6;
		job.differences = 0.01;
		play(&job);
	}
}

/* All wait for each other for a tenth of the time. One has a plugin that looks at its GPU when nothing is under way,
 * and sees no waits. */
Test(even, who_looks_at_other_times_is_not_late)
{
	for (unsigned seed = 0; seed < seeds(8); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.jitter = 0.3;
		job.starved_rank = 1 + (int)(seed % 8);
		play(&job);
	}
}

/* Ranks that differ for good by 2 %, noise from step to step, noise that lasts. */
Test(even, of_healthy_ranks_name_none)
{
	for (unsigned seed = 0; seed < seeds(6); seed++) {
		struct even_job job = tensor_parallel(seed);
		job.differences = 0.02;
		if (SANITIZED)
			job.seconds = 40;
		play(&job);
		job.noise = 0.1;
		play(&job);
		job.lasts = 0.95;
		play(&job);
		job.tensor_parallel = 4;
		play(&job);
		job.jitter = 0.3;
		play(&job);
	}
}

