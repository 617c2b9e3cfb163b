/* SPDX-License-Identifier: MIT */
/* Ranks of one job whose steps are not the same: where some report only a part of the calls, what repeats there is
 * shorter than a step. */
#include <criterion/criterion.h>

#include "tests/unit/analysis/jobs/small_job.h"

enum {
	DONE = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_RETURN | RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_STARTED |
	       RW_KNOWN_DONE,
	LAUNCHED = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK | RW_KNOWN_LAUNCH,
	STEPS_LEAST = 100,
	STEPS_MOST = 112,
	STEP_MS = 25,
	GATHERS = 3,
	CALLS = 2 + GATHERS, /* of a step: AllReduce, AllGathers, AllReduce */
};

static const uint64_t ms = 1000000, begin_ns = UINT64_C(1000000000000);

static bool sees_all(int rank)
{
	return rank < SMALL_JOB_RANKS / 2;
}

/* NCCL 2.27 reports no AllGather of the copy engine: where the interposer is at work it makes the operations. */
static void open_unlike(struct small_job *job)
{
	small_job_open(job);
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		job->boxes[rank].profiler_abi = 4;
		job->boxes[rank].interposed = sees_all(rank);
	}
	small_job_start(job);
}

/* The rank's call of that number in the step; the second AllReduce is its last one. */
static void call(struct small_job *job, int rank, uint64_t step, uint64_t number, uint64_t tickets[])
{
	bool gathers = number > 0 && number <= GATHERS, last = number == CALLS - 1;
	uint64_t at_ns = begin_ns + step * STEP_MS * ms + number * ms / 4 + (uint64_t)rank * ms / 50;
	const struct rw_operation operation = {
		.ticket = ++tickets[rank],
		.known = sees_all(rank) ? DONE : LAUNCHED,
		.function = gathers ? RW_FUNCTION_ALL_GATHER : RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 3000,
		.sequence = gathers ? step * GATHERS + number - 1 : step * 2 + last,
		.nccl_sequence = gathers ? step * GATHERS + number - 1 : step * 2 + last,
		.api_tid = 100,
		.group = sees_all(rank) ? (uint32_t)tickets[rank] : 0,
		.api_ns = at_ns,
		.return_ns = at_ns + 1000,
		.launch_begin_ns = at_ns,
		.launch_end_ns = at_ns,
		.progress = sees_all(rank) ? tickets[rank] : 0,
		.started_seen_ns = at_ns + 2000,
		.done_seen_ns = at_ns + ms / 10,
	};

	if (sees_all(rank) || !gathers)
		cr_assert_eq(analysis_add_operation(job->analysis, (analysis_process_id)rank, &operation), 0);
	else
		tickets[rank]--;
}

/* A rank does not come to the last call of the last step; the others wait for it until `waited_ms` later. */
static void play(struct small_job *job, uint64_t steps, int missing, uint64_t waited_ms)
{
	uint64_t tickets[SMALL_JOB_RANKS] = { 0 };

	for (uint64_t step = 0; step < steps; step++) {
		for (uint64_t number = 0; number < CALLS; number++)
			for (int i = 0; i < SMALL_JOB_RANKS; i++) {
				/* The ranks that report less are now and then the first to be read. */
				int rank = step % 3 ? i : SMALL_JOB_RANKS - 1 - i;
				if (step < steps - 1 || number < CALLS - 1 || (rank != missing && !sees_all(rank)))
					call(job, rank, step, number, tickets);
			}
		analysis_tick(job->analysis, begin_ns + (step + 1) * STEP_MS * ms);
	}
	for (uint64_t waited = 0; waited < waited_ms; waited += 100)
		analysis_tick(job->analysis, begin_ns + steps * STEP_MS * ms + waited * ms);
}

Test(unlike_steps, a_part_of_a_step_that_repeats_does_not_hide_how_long_steps_are)
{
	for (uint64_t steps = STEPS_LEAST; steps <= STEPS_MOST; steps++) {
		struct small_job job;

		open_unlike(&job);
		play(&job, steps, 3, 4500);
		cr_assert(job.count, "after %d steps: where no step is known it takes 10 s", (int)steps);
		const struct small_job_finding *finding = small_job_last(&job);
		cr_expect_eq(finding->kind, RW_KIND_HANG, "%s", finding->text);
		cr_expect_eq(finding->rank, 3, "%s", finding->text);
		small_job_close(&job);
	}
}
