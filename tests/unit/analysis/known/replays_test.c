/* SPDX-License-Identifier: MIT */
/* Values inside CUDA graphs: replays of captured calls, which are no operations of the job. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/analysis/jobs/scanned.h"

enum { RANKS = 4, CALLS = 2 };

static struct scanned job;

/* `captured`: calls that the box counts; those of CALLS are scanned. */
static void start(uint64_t captured)
{
	struct rw_communicator described = { .id = 77, .name = "world", .nranks = RANKS, .nnodes = 1, .created_ns = 1,
					     .captured = captured };

	scanned_start(&job, RANKS, RANKS);
	scanned_communicator(&job, "world", RANKS, 0, 1);
	for (int rank = 0; rank < RANKS; rank++) {
		described.rank = rank;
		cr_assert_eq(analysis_add_communicator(job.analysis, (uint32_t)rank + 1, 0, &described), 0);
	}
}

static struct rw_operation scanned_replay(int rank, uint64_t call, uint64_t replay, bool in_bad, bool out_bad)
{
	return (struct rw_operation){
		.ticket = ++job.ticket[rank],
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_CALL | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT,
		.flags = RW_FLAG_CAPTURED,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 100,
		.sequence = rw_captured_sequence(call, replay),
		.root_or_peer = -1,
		.api_ns = job.now_ns,
		.scan_in = { .nan = in_bad, .first_bad = in_bad ? 42 : UINT64_MAX, .absmax = 1 },
		.scan_out = { .nan = out_bad, .first_bad = out_bad ? 42 : UINT64_MAX, .absmax = 4 },
	};
}

static void pass_replay(int rank, uint64_t call, uint64_t replay, bool in_bad, bool out_bad)
{
	struct rw_operation slot = scanned_replay(rank, call, replay, in_bad, out_bad);

	cr_assert_eq(analysis_add_operation(job.analysis, (uint32_t)rank + 1, &slot), 0);
}

/* From `bad_replay` on rank 2 brings a NaN into call 1. */
static void replay_all(uint64_t replays, uint64_t bad_replay)
{
	for (uint64_t replay = 0; replay < replays; replay++) {
		for (uint64_t call = 0; call < CALLS; call++)
			for (int rank = 0; rank < RANKS; rank++) {
				bool bad = replay >= bad_replay && call == 1;
				pass_replay(rank, call, replay, bad && rank == 2, bad);
			}
		scanned_tick(&job, 100);
	}
	scanned_tick(&job, 3000);
}

Test(replays, a_nan_in_a_graph_names_the_rank_that_brought_it_and_says_which_replay)
{
	start(CALLS);
	replay_all(20, 9);
	const struct scanned_told *told = scanned_loud(&job);
	cr_assert(told);
	cr_expect_eq(told->kind, RW_KIND_NAN);
	cr_expect(told->rank_count == 1 && told->ranks[0] == 2);
	cr_expect_eq(told->confidence, RW_CERTAIN);
	cr_expect_eq(told->finding.operation.sequence, 1);
	cr_expect_eq(told->finding.operation.replay, 9 + 1);
	cr_expect_eq(told->finding.values.first_bad, 42);
	cr_expect(strstr(told->text, "AllReduce #1 in a CUDA graph (replay 9) on world"), "%s", told->text);
	scanned_free(&job);
}

Test(replays, a_captured_call_that_was_not_scanned_leaves_it_inconclusive)
{
	start(CALLS + 1);
	replay_all(20, 9);
	const struct scanned_told *told = scanned_loud(&job);
	cr_assert(told);
	cr_expect_eq(told->confidence, RW_INCONCLUSIVE);
	scanned_free(&job);
}

Test(replays, clean_replays_are_silent_and_what_was_bad_from_the_first_replay_on_is_no_news)
{
	start(CALLS);
	replay_all(30, UINT64_MAX);
	cr_expect_not(scanned_loud(&job));
	scanned_free(&job);
	start(CALLS);
	replay_all(30, 0);
	cr_expect_not(scanned_loud(&job));
	scanned_free(&job);
}

/* A damaged box: such a call has no place among the replays, and one was looked up all the same. */
Test(replays, an_ordinary_call_with_the_sequence_of_a_replay_is_refused)
{
	start(CALLS);
	for (int rank = 0; rank < RANKS; rank++) {
		struct rw_operation slot = scanned_replay(rank, 1, 0, false, false);

		slot.flags = 0;
		cr_expect_eq(analysis_add_operation(job.analysis, (uint32_t)rank + 1, &slot), -EINVAL);
	}
	scanned_tick(&job, 3000);
	cr_expect_not(scanned_loud(&job));
	scanned_free(&job);
}

/* Call 2^23 - 1 of a graph would be row 2^27 of a table: no memory is taken for what only damage claims. */
Test(replays, a_call_far_beyond_any_graph_is_judged_without_a_place)
{
	struct rusage usage;

	start(CALLS);
	for (int rank = 0; rank < RANKS; rank++)
		pass_replay(rank, RW_CAPTURED_CALL_MASK, 0, false, false);
	scanned_tick(&job, 3000);
	cr_expect_not(scanned_loud(&job));
	cr_assert_eq(getrusage(RUSAGE_SELF, &usage), 0);
	cr_expect_lt(usage.ru_maxrss, 512 * 1024, "%ld KiB", usage.ru_maxrss);
	scanned_free(&job);
}
