/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "history.h"
#include "seeds.h"

/* Plays the job and fails with the text of what should not have been said. */
static void expect_silence(const struct history_job *job, const char *what, unsigned seed)
{
	struct history *history = history_new(job);
	struct analysis *analysis = analysis_new(false, history_emit, history);
	size_t count;
	cr_assert(analysis);
	history_play(history, analysis, 0);
	const struct history_finding *findings = history_findings(history, &count);
	for (size_t i = 0; i < count; i++)
		cr_expect(findings[i].severity == RW_NOTICE, "%s, seed %u: %s", what, seed, findings[i].text);
	struct analysis_summary summary;
	analysis_summarise(analysis, &summary);
	cr_expect_gt(summary.steps, 10, "%s: steps are recognised", what);
	analysis_free(analysis);
	history_free(history);
}

Test(healthy, jitter_of_hundreds_of_seeds_is_no_finding)
{
	for (unsigned seed = 0; seed < seeds(1000); seed++) {
		struct history_job job = { .ranks = 4 + (int)(seed % 3) * 2,
					   .steps = 45,
					   .layers = 2,
					   .compute_ms = 40,
					   .jitter_ms = 5 + seed % 60,
					   .seed = seed };
		job.stall_chance = seed % 2 ? 0.01 : 0;
		job.stall_ms = 400;
		expect_silence(&job, "jitter", seed);
	}
}

/* The same rank three times in a row, or the last of two again and again: in a long job it comes, and means nothing. */
Test(healthy, what_chance_brings_once_in_a_long_job_is_no_finding)
{
	static const struct {
		int ranks;
		double stall_chance, stall_ms, jitter_ms;
	} cases[] = {
		{ 2, 0, 0, 200 },   { 2, 0.9, 400, 2 }, { 3, 0.1, 400, 2 },
		{ 4, 0.1, 400, 2 }, { 6, 0.1, 400, 2 }, { 8, 0.04, 400, 2 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (unsigned seed = 0; seed < seeds(24); seed++) {
			struct history_job job = { .ranks = cases[i].ranks,
						   .steps = 1500,
						   .layers = 2,
						   .compute_ms = 40,
						   .jitter_ms = cases[i].jitter_ms,
						   .stall_chance = cases[i].stall_chance,
						   .stall_ms = cases[i].stall_ms,
						   .seed = seed };
			expect_silence(&job, "a long job", seed);
		}
}

Test(healthy, a_host_that_stalls_while_its_gpu_is_busy_is_no_finding)
{
	struct history_job job = {
		.ranks = 8, .steps = 40, .layers = 4, .compute_ms = 60, .jitter_ms = 2, .runs_ahead = true
	};
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 3, .first_step = 12, .ms = 300, .evidence = EVIDENCE_FSYNC
	};
	expect_silence(&job, "run-ahead", 0);
}

Test(healthy, steps_in_which_all_ranks_pause_are_no_finding)
{
	struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	job.faults[0] = (struct history_fault){
		.kind = FAULT_ALL, .first_step = 10, .ms = 2000, .every = 10, .evidence = EVIDENCE_FSYNC
	};
	expect_silence(&job, "checkpoint", 0);
}

Test(healthy, one_rank_that_writes_the_checkpoint_now_and_then_is_no_finding)
{
	struct history_job job = { .ranks = 8, .steps = 60, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 0, .first_step = 10, .ms = 900, .every = 10, .evidence = EVIDENCE_FSYNC
	};
	expect_silence(&job, "checkpoint of rank 0", 0);
}

Test(healthy, two_late_steps_in_a_row_are_no_finding)
{
	struct history_job job = { .ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2 };
	job.faults[0] = (struct history_fault){
		.kind = FAULT_HOST, .rank = 0, .first_step = 20, .last_step = 21, .ms = 500, .evidence = EVIDENCE_FSYNC
	};
	expect_silence(&job, "two late steps", 0);
}

Test(healthy, the_bubbles_of_a_pipeline_are_no_finding)
{
	for (unsigned seed = 0; seed < seeds(50); seed++) {
		struct history_job job = {
			.ranks = 4, .steps = 45, .compute_ms = 50, .jitter_ms = 10, .pipeline = true, .seed = seed
		};
		expect_silence(&job, "bubbles", seed);
	}
}

Test(healthy, two_meshes_are_no_finding)
{
	for (unsigned seed = 0; seed < seeds(50); seed++) {
		struct history_job job = { .ranks = 8,
					   .steps = 40,
					   .layers = 4,
					   .compute_ms = 20,
					   .jitter_ms = 10,
					   .tensor_parallel = 2,
					   .seed = seed };
		expect_silence(&job, "TP and FSDP", seed);
	}
}

Test(healthy, without_gpu_times_hosts_that_run_ahead_are_no_finding)
{
	for (unsigned seed = 0; seed < seeds(50); seed++) {
		struct history_job job = { .ranks = 8,
					   .steps = 40,
					   .layers = 4,
					   .compute_ms = 20,
					   .jitter_ms = 10,
					   .no_gpu_times = true,
					   .runs_ahead = true,
					   .seed = seed,
					   .stall_chance = 0.1,
					   .stall_ms = 200 };
		expect_silence(&job, "no GPU times", seed);
	}
}
