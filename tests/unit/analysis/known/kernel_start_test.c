/* SPDX-License-Identifier: MIT */
/* GPUs that other kernels fill: with and without NCCL's times of its kernels. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/analysis/jobs/played.h"
#include "tests/unit/analysis/jobs/seeds.h"

static const struct history_job one_host = {
	.ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .kernel_times = true, .tail_ms = 3000
};

static struct history_job full(int rank, double ms)
{
	struct history_job job = one_host;

	job.faults[0] = (struct history_fault){ .kind = FAULT_FULL, .rank = rank, .first_step = 20, .ms = ms };
	return job;
}

Test(kernel_start, a_rank_whose_kernels_wait_for_room_is_named)
{
	for (unsigned seed = 0; seed < seeds(20); seed++) {
		struct history_job job = full((int)(seed % 8), 60 + 10 * seed);
		job.seed = seed;
		struct played run = play(&job);
		cr_assert_gt(run.count, 0, "seed %u", seed);
		for (size_t i = 0; i < run.count; i++) {
			const struct history_finding *finding = &run.findings[i];
			cr_expect_eq(finding->kind, RW_KIND_STRAGGLER, "%s", finding->text);
			cr_expect(finding->rank == job.faults[0].rank && finding->rank_count == 1, "%s", finding->text);
			cr_expect_eq(finding->class_, RW_CAUSE_GPU);
			cr_expect_eq(finding->late_kind, RW_LATE_DEVICE);
			cr_expect_eq(finding->confidence, RW_LIKELY, "what fills the GPU was not seen");
			cr_expect_eq(finding->since_step, 20, "since step %ld", finding->since_step);
			cr_expect_str_eq(finding->cause_text, "other kernels filled its GPU, and NCCL's kernel waited for room");
			cr_expect(finding->share > 0.9 && finding->share <= 1, "%f", finding->share);
		}
		cr_expect_float_eq(run.findings[run.count - 1].lost_ms, job.faults[0].ms, 8, "seed %u: %f", seed,
				   run.findings[run.count - 1].lost_ms);
		end(&run);
	}
}

static void expect_unnamed(const struct history_job *job, enum rw_confidence confidence, const char *missing)
{
	struct played run = play(job);

	cr_assert_gt(run.count, 0);
	for (size_t i = 0; i < run.count; i++) {
		const struct history_finding *finding = &run.findings[i];
		cr_expect_eq(finding->kind, RW_KIND_SLOWDOWN, "%s", finding->text);
		cr_expect_eq(finding->scope, RW_SCOPE_JOB);
		cr_expect_eq(finding->class_, RW_CAUSE_UNKNOWN);
		cr_expect_eq(finding->late_kind, RW_LATE_TRANSFER);
		cr_expect_eq(finding->confidence, confidence, "%s", finding->text);
		cr_expect(strstr(finding->missing, missing), "%s", finding->missing);
	}
	end(&run);
}

Test(kernel_start, without_times_of_all_kernels_nobody_is_named)
{
	struct history_job job = full(2, 100);

	job.kernel_times_lack = 5;
	expect_unnamed(&job, RW_INCONCLUSIVE, "RANKWATCH_KERNELCH=1");
	job.kernel_times = false;
	expect_unnamed(&job, RW_INCONCLUSIVE, "RANKWATCH_KERNELCH=1");
}

Test(kernel_start, where_all_gpus_are_full_nobody_is_named)
{
	struct history_job job = full(0, 100);

	for (int rank = 1; rank < 8; rank++) {
		job.faults[rank] = job.faults[0];
		job.faults[rank].rank = rank;
	}
	expect_unnamed(&job, RW_INCONCLUSIVE, "which kernels fill the GPUs");
}

Test(kernel_start, where_all_kernels_run_the_links_are_slow)
{
	struct history_job job = one_host;

	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = 30 };
	expect_unnamed(&job, RW_LIKELY, "which link between the GPUs it is");
}

static void expect_silence(const struct history_job *job, const char *what)
{
	struct played run = play(job);

	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].severity, RW_NOTICE, "%s, seed %u: %s", what, job->seed, run.findings[i].text);
	end(&run);
}

Test(kernel_start, healthy_jobs_are_silent)
{
	for (unsigned seed = 0; seed < seeds(60); seed++) {
		struct history_job job = one_host;
		job.seed = seed;
		job.ranks = 2 + (int)(seed % 4) * 2;
		job.jitter_ms = 2 + seed % 40;
		expect_silence(&job, "jitter");
		job.skew_ms = 1 + seed % 12;
		expect_silence(&job, "ends that skew");
		job.queue_ms = 3 + seed % 20;
		expect_silence(&job, "kernels that wait for some room everywhere");
		job.tensor_parallel = seed % 2 ? 2 : 0;
		job.noise_ms = 5;
		job.noise_lasts = 0.5;
		expect_silence(&job, "noise that lasts");
		job.uneven_ms = 80;
		expect_silence(&job, "another rank is late in each step");
	}
}

/* Late by its host or its GPU, a rank's kernel begins at once: nothing changes. */
Test(kernel_start, who_comes_late_is_found_as_without_times_of_kernels)
{
	static const enum history_fault_kind kinds[] = { FAULT_HOST, FAULT_DEVICE };

	for (unsigned seed = 0; seed < 20; seed++) {
		struct history_job job = one_host;
		job.seed = seed;
		job.faults[0] = (struct history_fault){ .kind = kinds[seed % 2], .rank = 5, .first_step = 15, .ms = 100 };
		if (seed % 4 > 1) /* the others wait inside their kernels, and then all transfer for long */
			job.faults[1] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 1, .ms = 150 };
		struct played with = play(&job);
		job.kernel_times = false;
		struct played without = play(&job);
		cr_assert_gt(with.count, 0);
		cr_assert_eq(with.count, without.count, "seed %u: %zu, %zu", seed, with.count, without.count);
		for (size_t i = 0; i < with.count; i++) {
			cr_expect_str_eq(with.findings[i].text, without.findings[i].text);
			cr_expect_str_eq(with.findings[i].cause_text, without.findings[i].cause_text);
			cr_expect_eq(with.findings[i].confidence, without.findings[i].confidence);
			cr_expect_float_eq(with.findings[i].lost_ms, without.findings[i].lost_ms, 3);
		}
		end(&with);
		end(&without);
	}
}

/* NCCL's thread lagged, and its notes were overwritten: short kernels that seem to have begun late, of a rank that
 * waits itself. */
Test(kernel_start, times_of_a_later_kernel_accuse_nobody)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		struct history_job job = one_host;
		job.seed = seed;
		job.kernel_times_wrong = 3;
		expect_silence(&job, "times of a later kernel");
		job.faults[0] = (struct history_fault){ .kind = FAULT_HOST, .rank = 5, .first_step = 15, .ms = 100 };
		struct played run = play(&job);
		cr_assert_gt(run.count, 0);
		for (size_t i = 0; i < run.count; i++)
			cr_expect(run.findings[i].rank == 5 && run.findings[i].rank_count == 1, "seed %u: %s", seed, run.findings[i].text);
		end(&run);
	}
}

/* In a group of two one waits as long as the other is late: that one's clock tells which is which. */
Test(kernel_start, of_two_ranks_the_one_that_waits_for_room_is_named)
{
	struct history_job job = full(1, 100);

	job.ranks = 2;
	struct played run = play(&job);
	cr_assert_gt(run.count, 0);
	for (size_t i = 0; i < run.count; i++)
		cr_expect(run.findings[i].rank == 1 && run.findings[i].rank_count == 1, "%s", run.findings[i].text);
	end(&run);
}

static void expect_standstill(const struct history_job *job, const char *cause)
{
	struct played run = { .history = history_new(job) };
	bool found = false;

	run.analysis = analysis_new(false, history_emit, run.history);
	history_play(run.history, run.analysis, history_step_ms(run.history, 20) + 20000);
	run.findings = history_findings(run.history, &run.count);
	for (size_t i = 0; i < run.count; i++) {
		cr_expect_eq(run.findings[i].kind, RW_KIND_HANG, "%s", run.findings[i].text);
		cr_expect_eq(run.findings[i].confidence, RW_INCONCLUSIVE, "%s", run.findings[i].text);
		cr_expect_eq(run.findings[i].scope, RW_SCOPE_JOB);
		found |= !strcmp(run.findings[i].cause_text, cause);
	}
	cr_expect(found, "%s", cause);
	end(&run);
}

Test(kernel_start, what_stands_still_says_whose_kernel_has_not_begun)
{
	struct history_job job = full(6, INFINITY);

	expect_standstill(&job, "NCCL reports no kernel of it on rank 6: a GPU without room for it?");
	job.kernel_times_lack = 4;
	expect_standstill(&job, "all GPUs are in it: a link between them stands still, or NCCL's kernel finds no room on one");
	job = one_host;
	job.faults[0] = (struct history_fault){ .kind = FAULT_TRANSFER, .first_step = 20, .ms = INFINITY };
	expect_standstill(&job, "NCCL's kernels run on all GPUs: a link between them stands still");
}
