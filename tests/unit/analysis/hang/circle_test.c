/* SPDX-License-Identifier: MIT */
/* Ranks that wait for each other in a circle: it is told, and names none of them but who alone has another order. */
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

/* A communicator of two, the `index`th of both. */
static void connect_two(uint32_t index, int first, int second)
{
	const int ranks[] = { first, second };

	for (int i = 0; i < 2; i++) {
		const struct rw_communicator communicator = {
			.id = 0x100 + index, .rank = i, .nranks = 2, .nnodes = 1, .created_ns = 1
		};
		cr_assert_eq(analysis_add_communicator(job.analysis, (analysis_process_id)ranks[i], index, &communicator), 0);
	}
}

/* Its first operation there; it waits in it, or has ended it. */
static struct rw_operation operation_of(uint32_t communicator, uint64_t ticket, double ms, bool done)
{
	uint64_t at_ns = (uint64_t)((called_at + ms / 1e3) * 1e9);

	return (struct rw_operation){
		.ticket = ticket,
		.known = JOINED | (done ? RW_KNOWN_DONE : 0),
		.comm = (uint16_t)communicator,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 1000,
		.api_tid = 100,
		.api_ns = at_ns,
		.return_ns = at_ns,
		.launch_begin_ns = at_ns,
		.launch_end_ns = at_ns,
		.progress = 1,
		.started_seen_ns = at_ns,
		.done_seen_ns = at_ns,
	};
}

static void come(int rank, uint32_t communicator, uint64_t ticket, double ms, bool done)
{
	const struct rw_operation operation = operation_of(communicator, ticket, ms, done);

	cr_assert_eq(analysis_add_operation(job.analysis, (analysis_process_id)rank, &operation), 0);
}

static void wait_until(double second)
{
	for (double at = 0.1; at < second; at += 0.1)
		small_job_tick(&job, called_at + at);
}

static void check_circle(const char *text)
{
	const struct small_job_finding *finding = small_job_last(&job);

	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->scope, RW_SCOPE_JOB);
	cr_expect_eq(finding->standing, RW_STANDING_CIRCLE);
	cr_expect_eq(finding->rank_count, 0);
	cr_expect_eq(finding->confidence, RW_INCONCLUSIVE);
	cr_expect(strstr(finding->text, text), "%s", finding->text);
}

Test(circle, two_that_wait_for_each_other_are_told_and_nobody_is_named, .init = open_job, .fini = close_job)
{
	connect_two(1, 0, 1);
	come(0, 1, 1, 0, false);
	for (int rank = 1; rank < SMALL_JOB_RANKS; rank++)
		come(rank, 0, 1, 0, false);
	wait_until(9);
	cr_expect_eq(job.count, 0);
	wait_until(12);
	check_circle("ranks 0,1 wait for each other: rank 0 in AllReduce #0 on ");
	cr_expect(strstr(small_job_last(&job)->text, " for rank 1, rank 1 in AllReduce #0 on "), "%s",
		  small_job_last(&job)->text);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	come(0, 0, 2, 12000, false); /* from another thread, on another stream */
	small_job_tick(&job, called_at + 12.5);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
}

/* What another stream of one does may still lead to what the others wait for. */
Test(circle, while_the_gpu_of_one_gets_on_it_is_none, .init = open_job, .fini = close_job)
{
	connect_two(1, 0, 1);
	connect_two(2, 0, 2);
	come(0, 1, 1, 0, false);
	for (int rank = 1; rank < SMALL_JOB_RANKS; rank++)
		come(rank, 0, 1, 0, false);
	for (int second = 1; second <= 20; second++) {
		cr_assert_eq(analysis_add_progress(job.analysis, 0, 2, (uint64_t)second, (uint64_t)second,
						   (uint64_t)((called_at + second) * 1e9)),
			     0);
		small_job_tick(&job, called_at + second);
		small_job_tick(&job, called_at + second + 0.9);
		cr_expect_eq(job.count, 0);
	}
	small_job_tick(&job, called_at + 21.9);
	cr_expect_eq(job.count, 0);
	small_job_tick(&job, called_at + 22);
	cr_assert_eq(job.count, 1);
	check_circle("ranks 0,1 wait for each other");
}

/* Whoever waits for one of them from outside is none of them. */
Test(circle, three_are_one_too_and_who_only_waits_for_them_is_left_out, .init = open_job, .fini = close_job)
{
	connect_two(1, 1, 2);
	connect_two(2, 2, 3);
	connect_two(3, 3, 1);
	connect_two(4, 0, 1);
	come(1, 1, 1, 0, false);
	come(2, 2, 1, 0, false);
	come(3, 3, 1, 0, false);
	come(0, 4, 1, 0, false);
	wait_until(12);
	check_circle("ranks 1-3 wait for each other: rank 1 in ");
}

/* Each sends to the next one, which has not received yet. */
Test(circle, ranks_that_send_to_each_other_are_one, .init = open_job, .fini = close_job)
{
	connect_two(1, 0, 1);
	for (int rank = 0; rank < 2; rank++) {
		struct rw_operation send = operation_of(1, 1, 0, false);
		send.function = RW_FUNCTION_SEND;
		send.root_or_peer = 1 - rank;
		cr_assert_eq(analysis_add_operation(job.analysis, (analysis_process_id)rank, &send), 0);
	}
	wait_until(12);
	check_circle("ranks 0,1 wait for each other: rank 0 in Send #0 on ");
	cr_expect(strstr(small_job_last(&job)->text, " for rank 1, rank 1 in Send #0 on "), "%s", small_job_last(&job)->text);
}

/* Two communicators of all ranks, of which `odd` ones call on the second first. */
static void cross(int odd)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		const struct rw_communicator communicator = {
			.id = 0x200, .rank = rank, .nranks = SMALL_JOB_RANKS, .nnodes = 1, .created_ns = 1
		};
		cr_assert_eq(analysis_add_communicator(job.analysis, (analysis_process_id)rank, 1, &communicator), 0);
	}
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		come(rank, rank >= 2 && rank < 2 + odd, 1, 0, false);
	wait_until(12);
}

Test(circle, who_has_another_order_than_all_others_is_likely_to_have_left_it, .init = open_job, .fini = close_job)
{
	cross(1);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->standing, RW_STANDING_CIRCLE);
	cr_expect_eq(finding->confidence, RW_LIKELY);
	cr_expect_eq(finding->scope, RW_SCOPE_RANK);
	cr_assert_eq(finding->rank_count, 1);
	cr_expect_eq(finding->rank, 2);
	cr_expect(strstr(finding->text,
			 "rank 2 waits in AllReduce #0 on ranks 0-3 (second communicator), and ranks 0,1,3 wait for it "
			 "in AllReduce #0 on ranks 0-3; for "),
		  "%s", finding->text);
	cr_expect_str_eq(finding->cause, "it calls the two in another order than all others, or leaves one call out");
}

Test(circle, as_many_with_one_order_as_with_the_other_name_nobody, .init = open_job, .fini = close_job)
{
	cross(2);
	check_circle("wait for each other");
	cr_expect(strstr(small_job_last(&job)->text, "on ranks 0-3 for rank"), "%s", small_job_last(&job)->text);
	cr_expect(strstr(small_job_last(&job)->text, "on ranks 0-3 (second communicator) for rank"), "%s",
		  small_job_last(&job)->text);
}

/* The one at the end of the way is waited for, and waits for nobody. */
Test(circle, a_way_that_ends_at_one_who_waits_for_nobody_is_none, .init = open_job, .fini = close_job)
{
	connect_two(1, 0, 1);
	connect_two(2, 1, 2);
	come(0, 1, 1, 0, false);
	come(1, 2, 1, 0, false);
	wait_until(12);
	cr_expect_eq(small_job_last(&job)->rank, 2);
	cr_expect_eq(small_job_last(&job)->rank_count, 1);
}

/* What all have come to ends by itself, and then rank 1 goes on to what rank 0 waits in. */
Test(circle, one_that_is_in_what_all_have_come_to_is_held_by_nobody, .init = open_job, .fini = close_job)
{
	connect_two(1, 0, 1);
	connect_two(2, 1, 2);
	come(0, 1, 1, 0, false);
	come(1, 2, 1, 0, false);
	come(2, 2, 1, 0, false);
	come(1, 0, 2, 0, false);
	come(2, 0, 2, 0, false);
	come(3, 0, 1, 0, false);
	wait_until(60);
	for (size_t i = 0; i < job.count; i++)
		cr_expect(!strstr(job.findings[i].text, "for each other"), "%s", job.findings[i].text);
}
