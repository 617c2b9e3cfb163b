/* SPDX-License-Identifier: MIT */
/* Jobs that make communicators without end. */
#include <criterion/criterion.h>

#include "analysis/expiry.h"
#include "analysis/lives.h"
#include "analysis/model.h"
#include "tests/unit/analysis/jobs/scanned.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS = 4, ENTRIES = 100 };

/* A process's table of communicators is small: its entries are given out again and again. */
static struct rw_communicator described(uint32_t number, int rank)
{
	return (struct rw_communicator){
		.id = number + 1000, .nranks = RANKS, .nnodes = 1, .rank = rank, .created_ns = number + 2
	};
}

static void announce(struct scanned *job, uint32_t number, bool ended)
{
	for (int rank = 0; rank < RANKS; rank++) {
		struct rw_communicator entry = described(number, rank);
		entry.ended_ns = ended ? job->now_ns : 0;
		cr_assert_eq(analysis_add_communicator(job->analysis, (uint32_t)rank + 1, number % ENTRIES, &entry), 0);
	}
}

static struct rw_operation reduce(struct scanned *job, uint32_t number, int rank)
{
	return (struct rw_operation){
		.ticket = ++job->ticket[rank],
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.comm = (uint16_t)(number % ENTRIES),
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 100,
		.api_tid = 1,
		.api_ns = job->now_ns,
		.launch_end_ns = job->now_ns + 1000,
		.progress = 1,
		.started_seen_ns = job->now_ns + 3000,
		.done_seen_ns = job->now_ns + 10000,
	};
}

static void live(struct scanned *job, uint32_t number, bool finishes)
{
	announce(job, number, false);
	for (int rank = 0; rank < RANKS; rank++) {
		struct rw_operation slot = reduce(job, number, rank);
		if (!finishes)
			slot.known &= ~(uint32_t)RW_KNOWN_DONE;
		cr_assert_eq(analysis_add_operation(job->analysis, (uint32_t)rank + 1, &slot), 0);
	}
	announce(job, number, true);
	analysis_tick(job->analysis, job->now_ns += 100000000);
}

Test(expiry, communicators_that_have_ended_do_not_add_up)
{
	static struct scanned job;
	struct analysis_summary summary;
	uint32_t most = 0, many = seeds(80000);

	scanned_start(&job, RANKS, RANKS);
	for (uint32_t number = 0; number < many; number++) {
		live(&job, number, number % 3);
		if (job.analysis->job.communicator_count > most)
			most = job.analysis->job.communicator_count;
	}
	cr_expect_lt(most, EXPIRY_KEEP_NS / 100000000 + 20, "%u at once", most);
	cr_expect_lt(job.analysis->instances.count, EXPIRY_KEEP_NS / 100000000 + 20);
	analysis_summarise(job.analysis, &summary);
	cr_expect_eq(summary.communicators, many);
	cr_expect_eq(job.told_count, 0);
	scanned_free(&job);
}

Test(expiry, one_that_lives_on_one_of_its_ranks_is_kept)
{
	static struct scanned job;

	scanned_start(&job, RANKS, RANKS);
	live(&job, 0, true);
	struct rw_communicator alive = described(0, 2);
	cr_assert_eq(analysis_add_communicator(job.analysis, 3, 0, &alive), 0);
	analysis_tick(job.analysis, job.now_ns += 2 * EXPIRY_KEEP_NS);
	analysis_tick(job.analysis, job.now_ns += 2 * EXPIRY_KEEP_NS);
	cr_expect_eq(job.analysis->job.communicator_count, 1);
	scanned_free(&job);
}

Test(expiry, what_is_still_told_of_one_that_was_given_back_is_of_no_matter)
{
	static struct scanned job;

	scanned_start(&job, RANKS, RANKS);
	live(&job, 0, true);
	analysis_tick(job.analysis, job.now_ns += 2 * EXPIRY_KEEP_NS);
	cr_assert_eq(job.analysis->job.communicator_count, 0);
	announce(&job, 0, true);
	struct rw_operation slot = reduce(&job, 0, 1);
	cr_expect_eq(analysis_add_operation(job.analysis, 2, &slot), 0);
	cr_expect_eq(analysis_add_progress(job.analysis, 2, 0, 1, 1, job.now_ns), 0);
	cr_expect_eq(job.analysis->job.communicator_count, 0);
	live(&job, ENTRIES, true);
	cr_expect_eq(job.analysis->job.communicator_count, 1, "the entry has a new owner");
	scanned_free(&job);
}

static uint64_t forgotten(const struct scanned *job)
{
	struct analysis_summary summary;

	analysis_summarise(job->analysis, &summary);
	return summary.forgotten;
}

/* One rank calls, and the others never do. */
Test(expiry, calls_that_make_room_before_they_have_ended_are_counted_also_when_the_job_has_another_life)
{
	static struct scanned job;

	scanned_start(&job, RANKS, RANKS);
	announce(&job, 0, false);
	for (uint64_t call = 0; call < INSTANCES_MAX + 7; call++) {
		struct rw_operation slot = reduce(&job, 0, 0);
		slot.sequence = call;
		slot.known &= ~(uint32_t)(RW_KNOWN_STARTED | RW_KNOWN_DONE);
		cr_assert_eq(analysis_add_operation(job.analysis, 1, &slot), 0);
		cr_assert_eq(forgotten(&job), call < INSTANCES_MAX ? 0 : call + 1 - INSTANCES_MAX, "after call %lu", call);
	}
	lives_begin_next(job.analysis);
	cr_expect_eq(forgotten(&job), 7);
	scanned_free(&job);
}
