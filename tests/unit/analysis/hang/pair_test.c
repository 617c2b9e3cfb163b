/* SPDX-License-Identifier: MIT */
/* Transfers whose two ends differ. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/small_job.h"

enum { JOINED = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_RETURN | RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_STARTED };

static const double called_at = 1000;
static struct small_job job;

static void open_job(void)
{
	small_job_open(&job);
	small_job_start(&job);
}

static void close_job(void)
{
	small_job_close(&job);
}

/* One end of the transfer of that number from rank 2 to rank 3. */
static void come(int rank, uint64_t number, uint64_t count, uint8_t dtype, bool done)
{
	uint64_t at_ns = (uint64_t)(called_at * 1e9) + number * 1000000;
	const struct rw_operation operation = {
		.ticket = number + 1,
		.known = JOINED | (done ? RW_KNOWN_DONE : 0),
		.function = rank == 2 ? RW_FUNCTION_SEND : RW_FUNCTION_RECV,
		.root_or_peer = rank == 2 ? 3 : 2,
		.dtype = dtype,
		.count = count,
		.sequence = number,
		.api_tid = 100,
		.api_ns = at_ns,
		.return_ns = at_ns,
		.launch_begin_ns = at_ns,
		.launch_end_ns = at_ns,
		.progress = number + 1,
		.started_seen_ns = at_ns,
		.done_seen_ns = at_ns + 1000,
	};

	cr_assert_eq(analysis_add_operation(job.analysis, (analysis_process_id)rank, &operation), 0);
}

static void exchange(uint64_t transfers, uint64_t count)
{
	for (uint64_t i = 0; i < transfers; i++) {
		come(2, i, count, RW_DTYPE_BFLOAT16, true);
		come(3, i, count, RW_DTYPE_BFLOAT16, true);
	}
}

static void wait_until(double second)
{
	for (double at = 0.1; at < second; at += 0.1)
		small_job_tick(&job, called_at + at);
}

Test(pair, who_leaves_what_both_have_done_is_likely_to_be_wrong, .init = open_job, .fini = close_job)
{
	exchange(8, 4096);
	come(2, 8, 4096, RW_DTYPE_BFLOAT16, false);
	come(3, 8, 4160, RW_DTYPE_BFLOAT16, false);
	wait_until(60);
	cr_assert_eq(job.count, 1);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_DESYNC);
	cr_expect_eq(finding->severity, RW_CRITICAL);
	cr_expect_eq(finding->confidence, RW_LIKELY);
	cr_expect_eq(finding->rank_count, 1);
	cr_expect_eq(finding->rank, 3);
	cr_expect(
	    strstr(finding->text, "rank 2 sends 4096 bf16 to rank 3, which receives 4160 bf16 (#8 between them on "),
	    "%s", finding->text);
	cr_expect(strstr(finding->text, "rank 3 is the one that left what both did 8 times before"), "%s", finding->text);
}

/* One transfer less is too few; nor do two sizes by turns say what is usual. */
Test(pair, else_both_are_listed, .init = open_job, .fini = close_job)
{
	exchange(7, 4096);
	come(3, 7, 4160, RW_DTYPE_BFLOAT16, false);
	come(2, 7, 4096, RW_DTYPE_BFLOAT16, false);
	wait_until(2);
	cr_assert_eq(job.count, 1);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_DESYNC);
	cr_expect_eq(finding->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(finding->rank_count, 2);
	cr_expect_eq(finding->rank, 2);
}

Test(pair, the_one_that_sends_can_be_it, .init = open_job, .fini = close_job)
{
	exchange(8, 4096);
	come(3, 8, 4096, RW_DTYPE_BFLOAT16, false);
	come(2, 8, 64, RW_DTYPE_BFLOAT16, false);
	wait_until(2);
	cr_expect_eq(small_job_last(&job)->rank, 2);
}

Test(pair, the_same_bytes_under_another_name_are_the_same, .init = open_job, .fini = close_job)
{
	come(2, 0, 4096, RW_DTYPE_BFLOAT16, true);
	come(3, 0, 8192, RW_DTYPE_UINT8, true);
	come(2, 1, 4096, RW_DTYPE_BFLOAT16, true);
	come(3, 1, 2048, RW_DTYPE_FLOAT32, true);
	wait_until(5);
	cr_expect_eq(job.count, 0);
}

/* Who receives into more room than is sent may mean it; the next one may not. */
Test(pair, one_that_ends_is_none, .init = open_job, .fini = close_job)
{
	come(2, 0, 4096, RW_DTYPE_BFLOAT16, true);
	come(3, 0, 4160, RW_DTYPE_BFLOAT16, true);
	wait_until(5);
	cr_expect_eq(job.count, 0);
	come(2, 1, 4096, RW_DTYPE_BFLOAT16, false);
	come(3, 1, 4160, RW_DTYPE_BFLOAT16, false);
	wait_until(10);
	cr_assert_eq(job.count, 1);
	cr_expect_eq(small_job_last(&job)->kind, RW_KIND_DESYNC);
}

/* A call of the rank's group of that number: all that it calls there is one kernel. */
static void post(int rank, uint8_t function, uint64_t number, uint64_t group, bool done)
{
	static uint64_t tickets[SMALL_JOB_RANKS];
	uint64_t at_ns = (uint64_t)(called_at * 1e9) + group * 1000000;
	const struct rw_operation operation = {
		.ticket = ++tickets[rank],
		.known = JOINED | (done ? RW_KNOWN_DONE : 0),
		.function = function,
		.root_or_peer = rank == 2 ? 3 : 2,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = 4096,
		.sequence = number,
		.api_tid = 100,
		.api_ns = at_ns,
		.return_ns = at_ns,
		.launch_begin_ns = at_ns,
		.launch_end_ns = at_ns,
		.progress = group + 1,
		.started_seen_ns = at_ns,
		.done_seen_ns = at_ns + 1000,
	};

	cr_assert_eq(analysis_add_operation(job.analysis, (analysis_process_id)rank, &operation), 0);
}

static void exchange_both_ways(uint64_t groups)
{
	for (uint64_t i = 0; i < groups; i++)
		for (int rank = 2; rank < 4; rank++) {
			post(rank, RW_FUNCTION_SEND, i, i, true);
			post(rank, RW_FUNCTION_RECV, i, i, true);
		}
}

/* Both are in the transfer that has two ends, and it does not end for the sake of those that have one. */
Test(pair, a_recv_that_nobody_sends_is_told_as_such_and_not_as_a_link, .init = open_job, .fini = close_job)
{
	exchange_both_ways(25);
	post(2, RW_FUNCTION_SEND, 25, 25, false);
	post(2, RW_FUNCTION_RECV, 25, 25, false);
	post(3, RW_FUNCTION_RECV, 25, 25, false);
	post(3, RW_FUNCTION_RECV, 26, 25, false);
	wait_until(60);
	for (size_t i = 0; i < job.count && i < SMALL_JOB_FINDINGS; i++)
		cr_expect_eq(job.findings[i].standing, RW_STANDING_CIRCLE, "%s", job.findings[i].text);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->severity, RW_WARNING);
	cr_expect_eq(finding->rank_count, 0);
	cr_expect(strstr(finding->text, "ranks 2,3 wait for each other: rank 2 in Recv #25 on "), "%s", finding->text);
	cr_expect(strstr(finding->text, " for rank 3, rank 3 in Recv #26 on "), "%s", finding->text);
	cr_expect_str_eq(finding->cause, "each waits for a Send that the next one of them has not called");
	cr_expect(strstr(finding->advice, "each Recv needs a Send of its peer"), "%s", finding->advice);
}

/* Who should send lives and waits nowhere: it is the one that is missing. */
Test(pair, a_recv_in_a_group_whose_sender_does_something_else_names_the_sender, .init = open_job, .fini = close_job)
{
	exchange_both_ways(8);
	post(2, RW_FUNCTION_RECV, 8, 8, false);
	wait_until(60);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->rank, 3);
	cr_expect_eq(finding->rank_count, 1);
}

/* Both are in it: the link, or a GPU that is full; of one that only waits for its peer that is not said. */
Test(pair, a_transfer_that_both_have_begun_and_nobody_ends_is_told, .init = open_job, .fini = close_job)
{
	come(2, 0, 4096, RW_DTYPE_BFLOAT16, false);
	wait_until(8);
	cr_expect_eq(job.count, 0);
	come(3, 0, 4096, RW_DTYPE_BFLOAT16, false);
	wait_until(12);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->scope, RW_SCOPE_JOB);
	cr_expect_eq(finding->rank_count, 0);
	cr_expect(strstr(finding->text, "ranks 2,3 have reached SendRecv #0"), "%s", finding->text);
}
