/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "tests/unit/analysis/jobs/history.h"
#include "tests/unit/analysis/jobs/seeds.h"

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

/* Was anybody named? */
static bool is_loud(const struct history_job *job)
{
	struct history *history = history_new(job);
	struct analysis *analysis = analysis_new(false, history_emit, history);
	bool loud = false;
	size_t count;
	cr_assert(analysis);
	history_play(history, analysis, 0);
	const struct history_finding *findings = history_findings(history, &count);
	for (size_t i = 0; i < count; i++)
		loud |= findings[i].severity > RW_NOTICE;
	analysis_free(analysis);
	history_free(history);
	return loud;
}

/* Ranks that are alike, whatever their noise: none of them is late by turns, now and then, or always. A test says so of
 * one job in a hundred; where noise lasts from step to step it takes some time to see that. */
Test(healthy, noise_that_all_ranks_have_is_no_finding)
{
	static const struct {
		const char *what;
		double jitter_ms, noise_ms, noise_lasts, tail_chance, stall_ms, uneven_ms;
		unsigned of_hundred;
	} cases[] = {
		{ "heavy tails", 2, 0, 0, 0.02, 60, 0, 2 },	 { "log-normal", 2, 20, 0, 0, 0, 0, 2 },
		{ "noise that lasts", 2, 10, 0.8, 0, 0, 0, 5 },	 { "30 % jitter", 24, 0, 0, 0, 0, 0, 2 },
		{ "uneven experts", 2, 0, 0, 0, 0, 80, 2 },	 { "all of it", 12, 10, 0.5, 0.01, 60, 40, 2 },
	};
	static const int ranks[] = { 2, 3, 4, 8, 16 };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned loud = 0, jobs = seeds(100);
		for (unsigned seed = 0; seed < jobs; seed++) {
			struct history_job job = { .ranks = ranks[seed % 5],
						   .steps = 400,
						   .layers = 1,
						   .compute_ms = 80,
						   .jitter_ms = cases[i].jitter_ms,
						   .noise_ms = cases[i].noise_ms,
						   .noise_lasts = cases[i].noise_lasts,
						   .tail_chance = cases[i].tail_chance,
						   .stall_ms = cases[i].stall_ms,
						   .uneven_ms = cases[i].uneven_ms,
						   .tensor_parallel = seed % 5 == 3 && seed % 2 ? 2 : 0,
						   .seed = seed };
			job.faults[0] = (struct history_fault){ .kind = FAULT_ALL, .first_step = 20, .ms = 700, .every = 20 };
			loud += is_loud(&job);
		}
		cr_expect_leq(loud, cases[i].of_hundred * jobs / 100, "%s: %u of %u jobs", cases[i].what, loud, jobs);
	}
}

/* In all steps alike, so that nothing but the work of the others shows it. */
Test(healthy, a_rank_whose_experts_have_more_to_do_for_good_is_no_finding)
{
	static const int experts[] = { 2, 4, 8 };
	for (size_t i = 0; i < sizeof(experts) / sizeof(*experts); i++)
		for (unsigned seed = 0; seed < seeds(8); seed++) {
			struct history_job job = { .ranks = 8,
						   .steps = 400,
						   .layers = 1,
						   .compute_ms = 80,
						   .jitter_ms = 2,
						   .expert_parallel = experts[i],
						   .seed = seed };
			job.faults[0] = (struct history_fault){ .kind = FAULT_DEVICE, .rank = (int)seed, .first_step = 1, .ms = 30 };
			expect_silence(&job, "experts with more to do", seed);
		}
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

/* Of most operations only the hosts' times are known then, which are compared with nothing. */
Test(healthy, hosts_that_run_ahead_where_progress_is_sampled_are_no_finding)
{
	static const int sampled[] = { 2, 4, 16 };
	for (unsigned seed = 0; seed < seeds(60); seed++) {
		struct history_job job = { .ranks = 8,
					   .steps = 60,
					   .layers = 4,
					   .compute_ms = 40,
					   .jitter_ms = 2 + seed % 20,
					   .runs_ahead = seed % 2 == 0,
					   .stall_chance = 0.05,
					   .stall_ms = 400,
					   .sampled = sampled[seed % 3],
					   .seed = seed };
		job.faults[0] = (struct history_fault){
			.kind = FAULT_HOST, .rank = 3, .first_step = 15, .ms = seed % 4 == 0 ? 60 : 0
		};
		expect_silence(&job, "sampled", seed);
	}
}
