/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "tests/unit/analysis/jobs/many_hosts.h"
#include "tests/sanitized.h"

/* What most of the jobs below are; some batches are lost, all of them shuffled. */
static struct many_hosts_job usual(enum many_hosts_shape shape, enum many_hosts_fault fault)
{
	return (struct many_hosts_job){
		.hosts = 4, .per_host = 2, .stages = 2, .shape = shape,
		.operations = shape == MANY_PIPELINE || shape == MANY_CUBE ? 8 : 20,
		.step_ms = 500, .jitter = 0.05, .noise = 0.02, .lasts = 0.5, .differences = 0.01, .uneven = 0.2,
		.fault = fault, .rank = 3, .slow = 0.25, .at_s = 20, .seconds = 80, .lose = 0.05, .delay_ms = 500, .seed = 11,
	};
}

/* Flat, and each of the eight is the only one of its host. */
static struct many_hosts_job alone(enum many_hosts_fault fault)
{
	struct many_hosts_job job = usual(MANY_FLAT, fault);

	job.hosts = 8;
	job.per_host = 1;
	return job;
}

static void expect_named(const struct many_hosts_result *result, enum rw_kind kind, int32_t rank)
{
	const struct many_hosts_finding *found = many_hosts_find(result, kind, true);

	cr_assert_not_null(found);
	cr_expect_eq(found->scope, RW_SCOPE_RANK, "%s", found->text);
	cr_expect_eq(found->rank_count, 1, "%s", found->text);
	cr_expect_eq(found->ranks[0], rank, "%s", found->text);
	for (size_t i = 0; i < result->count; i++)
		if (result->findings[i].severity >= RW_WARNING && result->findings[i].confidence != RW_INCONCLUSIVE)
			cr_expect_eq(result->findings[i].ranks[0], rank, "%s", result->findings[i].text);
}

static void expect_nobody(const struct many_hosts_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		cr_expect(result->findings[i].severity == RW_NOTICE || result->findings[i].confidence == RW_INCONCLUSIVE, "%s",
			  result->findings[i].text);
}

/* Its host sees no rank wait for it, and so does not look: until it is asked. */
static void expect_fsync(bool second_thread)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_SLOW_RANK);

	job.in_fsync = true;
	job.second_thread = second_thread;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_STRAGGLER, 3);
	const struct many_hosts_finding *found = NULL;
	for (size_t i = 0; i < result.count; i++)
		found = result.findings[i].state != RW_FINDING_CLOSED ? &result.findings[i] : found;
	cr_assert_not_null(found);
	cr_expect_eq(found->class_, RW_CAUSE_IO, "%s", found->cause);
	cr_expect(strstr(found->cause, "fsync(2)"), "%s", found->cause);
	cr_expect(strstr(found->cause, "/data/step.pt"), "%s", found->cause);
	cr_expect_eq(found->late_kind, RW_LATE_HOST);
	cr_expect_gt(result.asked, 0);
	cr_expect_gt(result.answered, 0);
	cr_expect_eq(result.node_count, 0, "its host alone could not know that it is late");
}

Test(job_half, tells_what_the_host_of_a_late_rank_knows)
{
	expect_fsync(false);
}

Test(job_half, tells_what_the_main_thread_of_a_late_rank_does_also_where_another_one_launches)
{
	expect_fsync(true);
}

Test(job_half, tells_what_the_gpu_of_a_late_rank_shows)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_SLOW_RANK);

	job.throttled = true;
	many_hosts_play(&job, &result);
	const struct many_hosts_finding *found = NULL;
	for (size_t i = 0; i < result.count; i++)
		found = result.findings[i].kind == RW_KIND_STRAGGLER ? &result.findings[i] : found;
	cr_assert_not_null(found);
	cr_expect_eq(found->ranks[0], 3);
	cr_expect_eq(found->class_, RW_CAUSE_THROTTLE, "%s", found->cause);
	cr_expect(strstr(found->cause, "1100"), "%s", found->cause);
	cr_expect(strstr(found->evidence, "nvml: "), "%s", found->evidence);
	cr_expect_eq(found->late_kind, RW_LATE_DEVICE);
}

Test(job_half, names_a_rank_that_is_the_only_one_of_its_host)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_SLOW_RANK);

	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_STRAGGLER, 3);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_STRAGGLER, true);
	cr_expect_eq(found->confidence, RW_LIKELY);
	cr_expect_eq(found->late_kind, RW_LATE_DEVICE);
	cr_expect_str_eq(found->host, "h3");
	cr_expect_gt(found->at_s, 20);
	cr_expect_eq(found->waiting_count, 7);
	/* A quarter more work, of a step that becomes so much longer: a fifth of it. */
	cr_expect_float_eq(found->share, 0.19, 0.04, "%f", found->share);
}

/* All steps up to an evaluation repeat as well, together with it; a row is not made of so many. */
Test(job_half, names_a_rank_that_becomes_slow_after_many_evaluations)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_SLOW_RANK);

	job.train = 20;
	job.evaluate = 2;
	job.at_s = 100;
	job.seconds = 115;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_STRAGGLER, 3);
	cr_expect_gt(result.summary.rows, 150);
}

/* Kernels of its group fill the GPU of each rank while they wait for the slow one: what waits for room meanwhile is no
 * work of theirs, whether its host sees one rank of the communicator or several. */
Test(job_half, names_nobody_whose_kernel_has_no_room_while_it_waits_for_another_rank)
{
	for (int hosts = 1; hosts <= 8; hosts *= 2) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(MANY_MESH, MANY_SLOW_RANK);
		job.hosts = hosts;
		job.per_host = 16 / hosts;
		job.width = hosts == 8 ? 4 : 2;
		job.place = MANY_BEFORE_DATA;
		job.kernel_times = job.beside = true;
		many_hosts_play(&job, &result);
		cr_expect_gt(result.count + result.node_count, 0, "%d hosts", hosts);
		for (size_t i = 0; i < result.count; i++)
			cr_expect(result.findings[i].rank_count == 1 && result.findings[i].ranks[0] == 3, "%s", result.findings[i].text);
		for (size_t i = 0; i < result.node_count; i++)
			cr_expect(result.of_nodes[i].rank_count == 1 && result.of_nodes[i].ranks[0] == 3, "%s", result.of_nodes[i].text);
	}
}

Test(job_half, names_a_host_all_of_whose_ranks_are_slow)
{
	for (int shape = MANY_FLAT; shape <= MANY_MESH; shape++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(shape, MANY_SLOW_HOST);
		job.hosts = 8; /* three others show too little in a minute */
		many_hosts_play(&job, &result);
		const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_STRAGGLER, true);
		cr_assert_not_null(found, "shape %d", shape);
		cr_expect_eq(found->scope, RW_SCOPE_HOST, "%s", found->text);
		cr_expect_eq(found->rank_count, 2);
		cr_expect_eq(found->ranks[0], 2);
		cr_expect_eq(found->ranks[1], 3);
		cr_expect_str_eq(found->host, "h1");
		cr_expect_eq(many_hosts_accused(&result), 1, "once, for all its ranks");
	}
}

Test(job_half, takes_no_cause_of_a_slow_host_from_the_gpu_of_one_of_its_ranks)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_SLOW_HOST);
	const struct many_hosts_finding *found = NULL;

	job.hosts = 8;
	job.throttled = job.one_throttled = true;
	job.seconds = 160;
	many_hosts_play(&job, &result);
	for (size_t i = 0; i < result.count; i++)
		if (result.findings[i].state != RW_FINDING_CLOSED && result.findings[i].kind == RW_KIND_STRAGGLER) {
			found = &result.findings[i];
			cr_expect(found->scope == RW_SCOPE_HOST && found->class_ == RW_CAUSE_UNKNOWN, "%s: %s", found->text, found->cause);
		}
	cr_assert_not_null(found);
}

Test(job_half, takes_no_cause_of_a_slow_host_whose_ranks_have_different_ones)
{
	for (int differ = 0; differ < 2; differ++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(MANY_FLAT, MANY_SLOW_HOST);
		const struct many_hosts_finding *found = NULL;

		job.hosts = 8;
		job.in_fsync = true;
		job.some_sleep = differ;
		job.seconds = 160; /* the second rank's answer comes after the finding */
		many_hosts_play(&job, &result);
		for (size_t i = 0; i < result.count; i++)
			if (result.findings[i].state != RW_FINDING_CLOSED && result.findings[i].scope == RW_SCOPE_HOST)
				found = &result.findings[i];
		cr_assert_not_null(found, "%d", differ);
		cr_expect_eq(found->class_, differ ? RW_CAUSE_UNKNOWN : RW_CAUSE_IO, "%d: %s", differ, found->cause);
		cr_expect(strstr(found->cause,
				 differ ? "different reasons: rank 2 fsync(2) on /data/step.pt, rank 3 clock_nano"
					: "fsync(2)"),
			  "%d: %s", differ, found->cause);
	}
}

Test(job_half, names_a_slow_rank_of_a_stage_by_the_other_replicas)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_PIPELINE, MANY_SLOW_RANK);

	job.hosts = 8;
	job.per_host = 1;
	job.rank = 4;
	job.uneven = 0.5;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_STRAGGLER, 4);
}

Test(job_half, is_silent_while_all_is_well)
{
	for (int shape = MANY_FLAT; shape <= MANY_HYBRID; shape++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(shape, MANY_HEALTHY);
		job.uneven = 0.6;
		many_hosts_play(&job, &result);
		cr_expect_eq(result.count, 0, "shape %d: %s", shape, result.findings[0].text);
		cr_expect_eq(result.asked, 0, "while all is well nobody is asked");
		cr_expect_eq(result.answered, 0);
		cr_expect_gt(result.summary.rows, 50);
		cr_expect_gt(result.summary.missed, 0, "some batches were lost");
	}
}

Test(job_half, says_nothing_of_what_the_job_does)
{
	static const enum many_hosts_fault faults[] = { MANY_ALL_SLOWER, MANY_HALF_SLOWER, MANY_PAUSE };

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(MANY_MESH, faults[i]);
		job.pause_s = 9;
		many_hosts_play(&job, &result);
		cr_expect_eq(result.count, 0, "fault %d: %s", faults[i], result.findings[0].text);
	}
}

/* Nobody else of its host is in its communicators: only the other hosts can tell that it has not come. */
Test(job_half, names_a_rank_that_does_not_come)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_HUNG);

	job.per_host = 1;
	job.evidence = true;
	job.seconds = 60;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_HANG, 3);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_HANG, true);
	cr_expect_eq(found->severity, RW_CRITICAL);
	cr_expect_eq(found->class_, RW_CAUSE_SLEEP, "%s", found->cause);
	cr_expect_eq(found->waiting_count, 3);
	cr_expect_lt(found->at_s, 32, "%f", found->at_s);
}

/* Nobody has looked at its threads: it may do something that takes long. */
Test(job_half, notes_a_rank_of_which_nothing_is_known_until_it_takes_too_long)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_HUNG);

	job.per_host = 1;
	job.seconds = 60;
	many_hosts_play(&job, &result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_HANG, false);
	cr_assert_not_null(found);
	cr_expect_eq(found->ranks[0], 3);
	cr_expect_eq(found->severity, RW_NOTICE);
	cr_expect_eq(many_hosts_accused(&result), 0, "the watchdog has 600 s: a quarter of that is not over");
	job.seconds = 220;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_HANG, 3);
	job.seconds = 60;
	job.watchdog_ms = 100000;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_HANG, 3);
	double usual_s = many_hosts_find(&result, RW_KIND_HANG, true)->at_s;
	job.watchdog_ms = 25000;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_HANG, 3);
	cr_expect_lt(many_hosts_find(&result, RW_KIND_HANG, true)->at_s, usual_s - 15,
		     "it is told at half of a short watchdog");
}

Test(job_half, tells_who_is_gone_or_stopped)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_PIPELINE, MANY_KILLED);

	job.seconds = 40;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_GONE, 3);
	cr_expect_str_eq(many_hosts_find(&result, RW_KIND_GONE, true)->cause, "killed by signal 9");
	job.fault = MANY_STOPPED;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_GONE, 3);
	cr_expect_eq(many_hosts_find(&result, RW_KIND_GONE, true)->class_, RW_CAUSE_STOPPED);
}

/* Rank 2 has come nowhere else because it waits for rank 3 on its own host, where that was found. */
Test(job_half, leaves_to_a_host_what_that_has_found)
{
	static const enum many_hosts_fault faults[] = { MANY_HUNG, MANY_STOPPED, MANY_KILLED };

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(MANY_MESH, faults[i]);
		job.evidence = true;
		job.seconds = 60;
		many_hosts_play(&job, &result);
		cr_expect_eq(result.count, 0, "fault %d: %s", faults[i], result.findings[0].text);
		cr_assert_gt(result.node_count, 0);
		cr_expect_eq(result.of_nodes[0].ranks[0], 3);
	}
}

Test(job_half, names_a_host_that_is_lost)
{
	for (int shape = MANY_FLAT; shape <= MANY_PIPELINE; shape++) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(shape, MANY_HOST_LOST);
		job.seconds = 50;
		many_hosts_play(&job, &result);
		const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_GONE, true);
		cr_assert_not_null(found, "shape %d", shape);
		cr_expect_eq(found->scope, RW_SCOPE_HOST);
		cr_expect_str_eq(found->host, "h1");
		cr_expect_eq(found->confidence, RW_LIKELY, "its collector may be lost, and a rank stand");
		cr_expect_lt(found->at_s, 28);
		for (size_t i = 0; i < result.count; i++)
			cr_expect_str_eq(result.findings[i].host, "h1", "%s", result.findings[i].text);
	}
}

Test(job_half, knows_that_a_collector_is_lost_and_not_its_host)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_MESH, MANY_COLLECTOR_LOST);

	many_hosts_play(&job, &result);
	expect_nobody(&result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_BLIND, false);
	cr_assert_not_null(found);
	cr_expect_eq(found->severity, RW_NOTICE);
	cr_expect_str_eq(found->host, "h1");
	cr_expect_eq(result.summary.silent_hosts, 1);
}

Test(job_half, names_who_calls_something_else_than_most)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_MESH, MANY_DESYNC);

	job.seconds = 40;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_DESYNC, 3);
	cr_expect_str_eq(many_hosts_find(&result, RW_KIND_DESYNC, true)->text,
			 "rank 3 calls AllGather #0 of 1048576 bf16 on a communicator of 4 ranks where ranks 1,5,7 "
			 "call AllReduce #37 of 1048576 bf16");
	/* Of two, nobody knows which is right. */
	job = usual(MANY_PIPELINE, MANY_DESYNC);
	job.seconds = 40;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_DESYNC, true);
	cr_assert_not_null(found);
	cr_expect_eq(found->rank_count, 2);
	cr_expect_eq(found->confidence, RW_INCONCLUSIVE);
}

/* Nothing hangs, and each host sees one rank of the communicator: only all hosts together show that one of them made
 * another call. */
Test(job_half, names_who_made_another_call_though_all_went_on)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_OTHER_CALL);

	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_DESYNC, 3);
	job.lose = 0;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_DESYNC, 3);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_DESYNC, true);
	cr_expect_eq(found->confidence, RW_LIKELY);
	cr_expect_eq(found->waiting_count, 7, "who made the same calls");
	cr_expect_gt(found->at_s, 20);
	cr_expect_lt(found->at_s, 70, "%f", found->at_s);
	char told[256];
	cr_assert_gt(result.erred, 300);
	snprintf(told, sizeof(told),
		 "rank 3 calls AllGather #%lu of 1048577 bf16 on a communicator of 8 ranks where ranks 0-2,4-7 call "
		 "AllGather #%lu of 1048576 bf16",
		 result.erred, result.erred);
	cr_expect_str_eq(found->text, told);
	/* A rank of its own host has made the usual call, and too few ranks are on that host for it to name one. */
	job.hosts = 2;
	job.per_host = 2;
	job.rank = 1;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_DESYNC, 1);
	cr_expect(strstr(many_hosts_find(&result, RW_KIND_DESYNC, true)->text, "of 1048577 bf16"), "%s",
		  many_hosts_find(&result, RW_KIND_DESYNC, true)->text);
	/* Of two members of each communicator nobody is known to be right. */
	job = usual(MANY_MESH, MANY_OTHER_CALL);
	job.hosts = 2;
	job.seconds = 140;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
	found = many_hosts_find(&result, RW_KIND_DESYNC, true);
	cr_assert_not_null(found);
	cr_expect_eq(found->rank_count, 2);
	cr_expect_eq(found->ranks[0], 1);
	cr_expect_eq(found->ranks[1], 3);
	cr_expect(strstr(found->text, "1048577 bf16"), "%s", found->text);
}

/* A third of the asks and of the answers is lost, and what comes is late: the ranks are named without waiting. */
Test(job_half, names_the_call_that_differs_though_much_is_lost)
{
	struct many_hosts_result result;
	char called[64];
	int known = 0, later = 0;
	const int jobs = SANITIZED ? 2 : 16;

	for (unsigned seed = 1; seed <= (unsigned)jobs; seed++) {
		struct many_hosts_job job = alone(MANY_OTHER_CALL);
		job.lose = 0.3;
		job.delay_ms = 1000;
		job.seed = seed;
		job.seconds = 120;
		many_hosts_play(&job, &result);
		expect_named(&result, RW_KIND_DESYNC, 3);
		const char *first = result.findings[0].text, *last = result.findings[result.count - 1].text;
		snprintf(called, sizeof(called), " #%lu of 1048577 bf16 on a communicator", result.erred);
		for (size_t i = 0; i < result.count; i++)
			cr_expect(strstr(result.findings[i].text, called) || strstr(result.findings[i].text, "made other collective calls"),
				  "%s", result.findings[i].text);
		known += strstr(last, called) != NULL;
		later += strstr(last, called) && !strstr(first, called);
	}
	/* Of two jobs by chance neither. */
	cr_expect(SANITIZED || known * 2 >= jobs, "%d", known);
	cr_expect(SANITIZED || later, "%d", later);
}

/* No host answers: the range in which the call lies remains. */
Test(job_half, tells_among_which_calls_it_is_where_no_host_answers)
{
	struct many_hosts_result result;
	struct many_hosts_job job = alone(MANY_OTHER_CALL);

	job.deaf = true;
	job.lose = 0;
	many_hosts_play(&job, &result);
	expect_named(&result, RW_KIND_DESYNC, 3);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_DESYNC, true);
	const char *told = "rank 3 made other collective calls on a communicator of 8 ranks than ranks 0-2,4-7, among ";
	cr_assert(!strncmp(found->text, told, strlen(told)), "%s", found->text);
	/* 21 a step of some 0.53 s: the call that differs is the 790th, or near it. */
	unsigned first = 1, last = 0;
	cr_assert(sscanf(found->text + strlen(told), "calls %u to %u", &first, &last) == 2 ||
		      sscanf(found->text + strlen(told), "the first %u calls", &last) == 1,
		  "%s", found->text);
	cr_expect_lt(first, 850, "%s", found->text);
	cr_expect_gt(last, 740, "%s", found->text);
}

Test(job_half, names_nobody_where_halves_made_different_calls)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_HALF_OTHER);

	job.seconds = 140;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_DESYNC, true);
	cr_assert_not_null(found);
	cr_expect_eq(found->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(found->rank_count, 8);
	cr_expect_eq(result.count, 1, "it is told once");
}

/* Data parallelism from host to host: each host has one rank of a communicator, and none sees that its result is
 * another. */
Test(job_half, names_whose_result_is_another)
{
	static const enum many_hosts_shape shapes[] = { MANY_MESH, MANY_FLAT };
	struct many_hosts_result result;

	for (size_t i = 0; i < 4; i += SANITIZED ? 3 : 1) {
		struct many_hosts_job job = usual(shapes[i % 2], MANY_OTHER_BITS);
		job.scanned = i < 2 ? 1 : 16;
		job.step_ms = 100;
		job.lose = 0;
		job.seed = 50 + (unsigned)i;
		many_hosts_play(&job, &result);
		expect_named(&result, RW_KIND_CORRUPTION, 3);
		const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_CORRUPTION, true);
		cr_expect_eq(found->confidence, RW_LIKELY);
		cr_expect_eq(found->severity, RW_CRITICAL);
		cr_expect_lt(found->at_s, job.at_s + 70, "%s after %.1f s", found->text, found->at_s);
		cr_expect(strstr(found->text, "rank 3 has another result than all others in one or more of All"), "%s",
			  found->text);
		cr_expect_not_null(strstr(found->evidence, "by the messages of their hosts"), "%s", found->evidence);
		cr_expect_eq(result.count, 1, "it is told once: %s", result.findings[1].text);
	}
}

/* Of a row of which too few were heard nobody is named; of a later one the rank is. */
Test(job_half, names_whose_result_is_another_though_much_is_lost)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_MESH, MANY_OTHER_BITS);

	if (SANITIZED)
		cr_skip_test("the code is that of results that are another where nothing is lost");
	job.scanned = 1;
	job.step_ms = 100;
	job.lose = 0.3;
	job.seconds = 400;
	many_hosts_play(&job, &result);
	size_t named = 0;
	for (size_t i = 0; i < result.count; i++) {
		const struct many_hosts_finding *found = &result.findings[i];
		cr_expect_eq(found->kind, RW_KIND_CORRUPTION, "%s", found->text);
		if (found->confidence == RW_INCONCLUSIVE)
			continue;
		named++;
		cr_expect_eq(found->rank_count, 1);
		cr_expect_eq(found->ranks[0], 3, "%s", found->text);
	}
	cr_expect_eq(named, 1);
}

Test(job_half, names_neither_of_two_whose_results_differ)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_MESH, MANY_OTHER_BITS);

	job.hosts = 2;
	job.scanned = 1;
	job.step_ms = 100;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_CORRUPTION, true);
	cr_assert_not_null(found);
	cr_expect_eq(found->confidence, RW_INCONCLUSIVE);
	cr_expect_eq(found->rank_count, 2);
}

/* Another call has another result: what differs is the call. And of equal results nothing is told, whatever is lost or
 * comes late. */
Test(job_half, takes_nothing_else_for_another_result)
{
	static const struct many_hosts_job cases[] = {
		{ .fault = MANY_OTHER_CALL, .shape = MANY_MESH }, { .fault = MANY_OTHER_CALL }, { .fault = MANY_DESYNC },
		{ .lose = 0.5, .delay_ms = 9000 },		  { .drop = 0.02 },		{ .restart_s = 33, .shape = MANY_MESH },
		{ .fault = MANY_KILLED, .shape = MANY_MESH },	  { .join_s = 7 },
	};
	struct many_hosts_result result;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i += SANITIZED ? 3 : 1) {
		struct many_hosts_job job = usual(cases[i].shape, cases[i].fault);
		job.lose = cases[i].lose;
		job.delay_ms = cases[i].delay_ms;
		job.drop = cases[i].drop;
		job.restart_s = cases[i].restart_s;
		job.join_s = cases[i].join_s;
		job.scanned = 1 + (int)i % 3 * 4;
		job.step_ms = 100;
		many_hosts_play(&job, &result);
		for (size_t k = 0; k < result.count; k++)
			cr_expect_neq(result.findings[k].kind, RW_KIND_CORRUPTION, "case %zu: %s", i, result.findings[k].text);
	}
}

/* Batches that are lost or come late, calls that nobody has seen, a collector that comes late or starts anew, calls
 * that only some hosts see: of none of these it may follow that ranks made different calls. */
Test(job_half, takes_nothing_that_was_not_seen_for_another_call)
{
	static const struct {
		enum many_hosts_shape shape;
		double lose, delay_ms, drop, join_s, restart_s;
		int interposed;
	} cases[] = {
		{ .lose = 0.5, .delay_ms = 9000 },
		{ .drop = 0.001 },
		{ .drop = 0.02, .lose = 0.2, .delay_ms = 3000 },
		{ .drop = 0.0002, .shape = MANY_MESH },
		{ .join_s = 7 },
		{ .join_s = 7, .restart_s = 40, .lose = 0.2, .delay_ms = 3000 },
		{ .interposed = 2 },
		{ .interposed = 1, .drop = 0.001, .shape = MANY_MESH },
		{ .restart_s = 33, .delay_ms = 3000, .shape = MANY_PIPELINE },
	};

	for (unsigned i = 0; i < 4 * sizeof(cases) / sizeof(*cases); i += SANITIZED ? 4 : 1) {
		struct many_hosts_result result;
		struct many_hosts_job job = usual(cases[i / 4].shape, MANY_HEALTHY);
		job.lose = cases[i / 4].lose;
		job.delay_ms = cases[i / 4].delay_ms;
		job.drop = cases[i / 4].drop;
		job.join_s = cases[i / 4].join_s;
		job.restart_s = cases[i / 4].restart_s;
		job.interposed = cases[i / 4].interposed;
		job.seed = 100 + i;
		many_hosts_play(&job, &result);
		for (size_t k = 0; k < result.count; k++)
			cr_expect_neq(result.findings[k].kind, RW_KIND_DESYNC, "case %u, seed %u: %s", i / 4, job.seed,
				      result.findings[k].text);
	}
}

static void expect_circle(const struct many_hosts_result *result, size_t ranks, const char *text)
{
	const struct many_hosts_finding *found = many_hosts_find(result, RW_KIND_HANG, true);

	cr_assert_not_null(found);
	cr_expect_eq(found->scope, RW_SCOPE_JOB, "%s", found->text);
	cr_expect_eq(found->standing, RW_STANDING_CIRCLE, "%s", found->text);
	cr_expect_eq(found->confidence, RW_INCONCLUSIVE, "%s", found->text);
	cr_expect_eq(found->rank_count, 0, "%s", found->text);
	cr_expect_eq(found->waiting_count, ranks, "%s", found->text);
	cr_expect(strstr(found->text, text), "%s", found->text);
	cr_expect_lt(found->at_s, 36, "%f", found->at_s);
	expect_nobody(result);
}

/* Each host sees that its ranks wait, and for nobody of its own. */
Test(job_half, tells_of_ranks_of_several_hosts_that_wait_for_each_other)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_TWICE, MANY_CIRCLE);

	job.per_host = 1;
	job.seconds = 60;
	many_hosts_play(&job, &result);
	expect_circle(&result, 2, "ranks 0,1 wait for each other: rank 0 in AllReduce #");
	cr_expect(strstr(many_hosts_find(&result, RW_KIND_HANG, true)->text, " for rank 0; for "));
	cr_expect_eq(result.node_count, 0);
	/* Parts of the circle are on one host, of whose communicator no member is reported. */
	job = usual(MANY_MESH, MANY_CIRCLE);
	job.seconds = 60;
	many_hosts_play(&job, &result);
	expect_circle(&result, 4, "ranks 0-3 wait for each other: rank 0 in AllReduce #");
	cr_expect_eq(result.node_count, 0);
	job.lose = 0.3;
	job.delay_ms = 3000;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
}

Test(job_half, tells_of_stages_that_send_to_each_other)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_PIPELINE, MANY_SENDS);

	job.seconds = 60;
	many_hosts_play(&job, &result);
	expect_circle(&result, 2, "ranks 0,2 wait for each other: rank 0 in Send #");
	cr_expect(strstr(many_hosts_find(&result, RW_KIND_HANG, true)->text, " for rank 2, rank 2 in Send #"));
	cr_expect_eq(result.node_count, 0);
	job.stages = 4;
	many_hosts_play(&job, &result);
	expect_circle(&result, 4, "ranks 0,2,4,6 wait for each other: rank 0 in Send #");
	/* Where transfers are not followed, a rank may have received; and what is lost and late names nobody. */
	job.sampled = 3;
	many_hosts_play(&job, &result);
	cr_expect_null(many_hosts_find(&result, RW_KIND_HANG, true));
	expect_nobody(&result);
	job.sampled = 0;
	job.lose = 0.3;
	job.delay_ms = 3000;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
}

Test(job_half, names_nobody_where_all_have_come)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_LINK);

	job.seconds = 50;
	many_hosts_play(&job, &result);
	expect_nobody(&result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_HANG, true);
	cr_assert_not_null(found);
	cr_expect_eq(found->scope, RW_SCOPE_JOB);
	cr_expect_eq(found->standing, RW_STANDING_TOGETHER);
	cr_expect_eq(found->rank_count, 0);
	cr_expect_eq(found->waiting_count, 8);
}

/* Its totals begin anew: what lies before is not compared with what lies behind. */
Test(job_half, bears_a_collector_that_starts_anew)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_HEALTHY);

	job.restart_s = 33;
	many_hosts_play(&job, &result);
	cr_expect_eq(result.count, 0, "%s", result.findings[0].text);
	cr_expect_gt(result.summary.rows, 60);
	cr_expect_eq(result.summary.hosts, 4);
}

Test(job_half, judges_what_is_left_of_heavy_loss)
{
	struct many_hosts_result result;
	struct many_hosts_job job = usual(MANY_FLAT, MANY_SLOW_HOST);

	job.lose = 0.3;
	job.delay_ms = 3000;
	job.seconds = 400;
	many_hosts_play(&job, &result);
	const struct many_hosts_finding *found = many_hosts_find(&result, RW_KIND_STRAGGLER, true);
	cr_assert_not_null(found);
	cr_expect_str_eq(found->host, "h1");
	for (size_t i = 0; i < result.count; i++)
		cr_expect_str_eq(result.findings[i].host, "h1", "%s", result.findings[i].text);
}

/* Batches by hand. */

struct batch {
	struct rw_batch header;
	struct rw_message messages[8];
};

static struct batch batch_of(const char *host, uint64_t number, uint32_t count)
{
	struct batch batch = { .header = { .magic = RW_BATCH_MAGIC,
					   .version = RW_BATCH_VERSION,
					   .count = count,
					   .number = number,
					   .start = 7 } };

	strcpy(batch.header.host, host);
	strcpy(batch.header.job, "j");
	return batch;
}

static struct rw_message rank_message(int32_t rank, uint16_t generation, uint8_t life)
{
	return (struct rw_message){ .type = RW_MESSAGE_RANK, .generation = generation, .rank = rank,
				    .of_rank = { .pid = 100 + rank, .world_size = 2, .exit_status = -1, .life = life } };
}

static int take(struct job_half *half, const struct batch *batch, double at_s, const char **why)
{
	return job_half_take(half, batch, sizeof(batch->header) + batch->header.count * sizeof(*batch->messages),
			     (uint64_t)(at_s * 1e9), why);
}

static void emit_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

Test(job_half, refuses_what_is_no_batch)
{
	struct job_half *half = job_half_new("j", emit_nothing, NULL);
	struct batch batch = batch_of("a", 0, 1);
	const char *why = NULL;

	batch.messages[0] = rank_message(0, 0, RW_MESSAGE_ALIVE);
	cr_expect_eq(take(half, &batch, 1, &why), 0);
	cr_expect_eq(job_half_take(half, &batch, 191, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "it is shorter than a batch's header");
	cr_expect_eq(job_half_take(half, &batch, 192, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "its length is not that of the messages that it says it has");
	batch.header.version = 2;
	cr_expect_eq(take(half, &batch, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "its layout is of another version of rankwatch");
	batch.header.version = RW_BATCH_VERSION;
	batch.header.magic ^= 1;
	cr_expect_eq(take(half, &batch, 1, &why), -EINVAL);
	batch.header.magic ^= 1;
	batch.header.job[0] = 'k';
	cr_expect_eq(take(half, &batch, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "it is of another job");
	memset(batch.header.host, 'a', sizeof(batch.header.host));
	cr_expect_eq(take(half, &batch, 1, &why), -EINVAL);
	cr_expect_str_eq(why, "the name of its host or job has no end");
	cr_expect_eq(take(half, &batch, 1, NULL), -EINVAL);
	struct job_half_summary summary;
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.batches, 1);
	cr_expect_eq(summary.bad, 7);
	cr_expect_eq(summary.ranks, 1);
	job_half_free(half);
}

Test(job_half, passes_over_messages_that_cannot_be)
{
	struct job_half *half = job_half_new(NULL, emit_nothing, NULL);
	struct batch batch = batch_of("a", 0, 8);
	struct job_half_summary summary;

	batch.messages[0] = rank_message(-1, 0, RW_MESSAGE_ALIVE);
	batch.messages[1] = rank_message(0, 0, 9);
	batch.messages[2] = (struct rw_message){ .type = 99 };
	batch.messages[3] = (struct rw_message){ .type = RW_MESSAGE_ROW,
						 .function = RW_FUNCTION_COUNT,
						 .row = { .row = 1, .calls = 1, .steps = 1 } };
	batch.messages[4] = (struct rw_message){ .type = RW_MESSAGE_MEMBER, .member = { .size = 2, .comm_rank = 2 } };
	batch.messages[5] = rank_message(1, 0, RW_MESSAGE_ALIVE);
	batch.messages[6] = (struct rw_message){ .type = RW_MESSAGE_REASON, .rank = 1, .reason = { .pieces = 3, .piece = 3 } };
	batch.messages[7] = (struct rw_message){ .type = RW_MESSAGE_REASON,
						 .rank = 1,
						 .reason = { .pieces = 1, .text = "nobody has asked" } };
	cr_expect_eq(take(half, &batch, 1, NULL), 0);
	job_half_tick(half, 2000000000);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.messages, 1);
	cr_expect_eq(summary.ignored, 7);
	cr_expect_eq(summary.communicators, 0);
	job_half_free(half);
}

Test(job_half, forgets_an_earlier_start_of_the_job)
{
	struct job_half *half = job_half_new("j", emit_nothing, NULL);
	struct batch batch = batch_of("a", 0, 1);
	struct job_half_summary summary;

	batch.messages[0] = rank_message(5, 1, RW_MESSAGE_ALIVE);
	take(half, &batch, 1, NULL);
	batch.header.number = 1;
	batch.messages[0] = rank_message(0, 2, RW_MESSAGE_ALIVE);
	take(half, &batch, 2, NULL);
	batch.header.number = 2;
	batch.messages[0] = rank_message(6, 1, RW_MESSAGE_KILLED);
	take(half, &batch, 3, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.generation, 2);
	cr_expect_eq(summary.ranks, 1, "rank 5 is of the first start, and rank 6, that is told of late, too");
	cr_expect_eq(summary.ignored, 1);
	job_half_free(half);
}

Test(job_half, counts_what_does_not_come)
{
	struct job_half *half = job_half_new("j", emit_nothing, NULL);
	struct batch batch = batch_of("a", 4, 0);
	struct job_half_summary summary;

	batch.header.lost = 12;
	take(half, &batch, 1, NULL);
	batch.header.number = 2;
	batch.header.lost = 9;
	take(half, &batch, 1, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.missed, 3, "0, 1 and 3");
	cr_expect_eq(summary.unsent, 12);
	take(half, &batch, 1, NULL);
	batch.header.number = 4;
	take(half, &batch, 1, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.missed, 3, "what comes twice has come once");
	batch.header.number = 3;
	take(half, &batch, 1, NULL);
	batch.header.number = 4 + 63;
	take(half, &batch, 1, NULL);
	batch.header.number = 4;
	take(half, &batch, 1, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.missed, 2 + 62, "%lu: 0, 1, and 5 to 66", summary.missed);
	batch.header.start = 8;
	batch.header.number = 0;
	batch.header.lost = 0;
	take(half, &batch, 2, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.missed, 0, "of the new sender");
	job_half_tick(half, 20000000000);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.silent_hosts, 1);
	batch.header.number = 1;
	batch.header.flags = RW_BATCH_LAST;
	take(half, &batch, 21, NULL);
	job_half_tick(half, 60000000000);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.silent_hosts, 0, "it has ended in order");
	job_half_free(half);
}

/* Two hosts say that they have rank 0: who came first keeps it while it is heard of. */
Test(job_half, does_not_let_another_host_take_a_living_rank)
{
	struct job_half *half = job_half_new("j", emit_nothing, NULL);
	struct batch one = batch_of("a", 0, 1), other = batch_of("b", 0, 1);
	struct job_half_summary summary;

	one.messages[0] = other.messages[0] = rank_message(0, 0, RW_MESSAGE_ALIVE);
	take(half, &one, 1, NULL);
	take(half, &other, 2, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.ranks, 1);
	cr_expect_eq(summary.ignored, 1);
	struct batch nothing = batch_of("b", 1, 0);
	for (int second = 3; second < 30; second++)
		take(half, &nothing, second, NULL);
	take(half, &other, 30, NULL);
	job_half_summarise(half, &summary);
	cr_expect_eq(summary.ignored, 1, "the first host is silent, and the other one is not: the rank has moved");
	job_half_free(half);
}

static void count_findings(void *argument, const struct rw_finding *finding)
{
	unsigned *count = argument;

	*count += finding->state == RW_FINDING_OPEN;
}

static struct rw_message member_message(int32_t rank, uint64_t comm, uint32_t size)
{
	return (struct rw_message){ .type = RW_MESSAGE_MEMBER,
				    .rank = rank,
				    .member = { .comm = comm, .size = size, .comm_rank = rank, .hosts = size } };
}

static struct rw_message flight_message(int32_t rank, uint64_t sequence, uint32_t age_ms)
{
	return (struct rw_message){ .type = RW_MESSAGE_FLIGHT, .function = RW_FUNCTION_ALL_GATHER, .rank = rank,
				    .flight = { .comm = 9, .sequence = sequence, .count = 64, .age_ms = age_ms, .peer_or_root = -1,
						.phase = RW_PHASE_LAUNCHED, .flags = RW_MESSAGE_ARRIVED | RW_MESSAGE_HOLDS } };
}

/* A late rank lets the others wait for more than a second in each step: what they were told to stand in is another call
 * each time, and what was said of the step before is still there. `longest_ms`: that any wait was told to be. */
static unsigned findings_of_waits(uint32_t longest_ms)
{
	unsigned count = 0;
	struct job_half *half = job_half_new("j", count_findings, &count);

	for (uint64_t step = 0; step < 20; step++) {
		for (int32_t rank = 0; rank < 2; rank++) {
			struct batch batch = batch_of(rank ? "b" : "a", step, 3);
			double at_s = 10 + 1.4 * (double)step + 0.7 * rank;

			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			batch.messages[1] = member_message(rank, 9, 3);
			batch.messages[2] = flight_message(rank, 100 + 12 * step + (uint64_t)rank, longest_ms);
			/* Not every wait is long enough to be told. */
			batch.header.count = (step + (uint64_t)rank) % 2 ? 2 : 3;
			take(half, &batch, at_s, NULL);
			job_half_tick(half, (uint64_t)(at_s * 1e9));
		}
		job_half_tick(half, (uint64_t)((10 + 1.4 * (double)step + 1.3) * 1e9));
	}
	job_half_free(half);
	return count;
}

Test(job_half, calls_that_are_over_are_no_calls_that_never_meet)
{
	cr_expect_eq(findings_of_waits(1200), 0);
	cr_expect_gt(findings_of_waits(5000), 0, "and those who have long waited in different ones have parted");
}

/* Rank 2 has made other calls than ranks 0 and 1 on what its host takes for the same communicator, in this place. */
static unsigned findings_of_orders(int32_t place, int32_t size, uint8_t flags)
{
	unsigned count = 0;
	struct job_half *half = job_half_new("j", count_findings, &count);

	for (uint64_t second = 0; second < 90; second++) {
		for (int32_t rank = 0; rank < 3; rank++) {
			const char host[] = { (char)('a' + rank), '\0' };
			struct batch batch = batch_of(host, second, 3);
			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			batch.messages[1] = member_message(rank, 9, 3);
			if (rank == 2) {
				batch.messages[1].member.comm_rank = place;
				batch.messages[1].member.size = size;
				batch.messages[1].member.flags = flags;
			}
			batch.messages[2] = (struct rw_message){ .type = RW_MESSAGE_CALLS, .rank = rank,
								 .calls = { .comm = 9, .calls = 64, .hash = rank == 2 ? 5 : 4 } };
			cr_assert_eq(take(half, &batch, 20 + (double)second, NULL), 0);
		}
		job_half_tick(half, (20 + second) * 1000000000);
	}
	job_half_free(half);
	return count;
}

/* NCCL gives all communicators that are shrunk of one parent the same id. */
Test(job_half, compares_no_calls_of_what_may_be_several_communicators_of_one_id)
{
	cr_expect_eq(findings_of_orders(2, 3, 0), 1);
	cr_expect_eq(findings_of_orders(1, 3, 0), 0, "two ranks in one place");
	cr_expect_eq(findings_of_orders(1, 2, 0), 0, "two sizes");
	cr_expect_eq(findings_of_orders(2, 3, RW_MESSAGE_MIXED), 0, "its host says so");
}

static void keep_severity(void *argument, const struct rw_finding *finding)
{
	enum rw_severity *severity = argument;

	*severity = finding->severity;
}

/* Rank 2 has made other calls than ranks 0 and 1: how grave that is where rank 0's host says this of its membership. */
static enum rw_severity severity_of_orders(uint8_t flags, uint64_t from_s)
{
	enum rw_severity severity = RW_CRITICAL + 1;
	struct job_half *half = job_half_new("j", keep_severity, &severity);

	for (uint64_t second = 0; second < 60; second++) {
		for (int32_t rank = 0; rank < 3; rank++) {
			const char host[] = { (char)('a' + rank), '\0' };
			struct batch batch = batch_of(host, second, 3);
			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			batch.messages[1] = member_message(rank, 9, 3);
			batch.messages[1].member.flags = !rank && second >= from_s ? flags : 0;
			batch.messages[2] = (struct rw_message){ .type = RW_MESSAGE_CALLS, .rank = rank,
								 .calls = { .comm = 9, .calls = 64, .hash = 4 } };
			if (second >= 30) {
				batch.messages[2].calls.calls = 128;
				batch.messages[2].calls.hash = rank == 2 ? 5 : 6;
			}
			cr_assert_eq(take(half, &batch, 20 + (double)second, NULL), 0);
		}
		job_half_tick(half, (20 + second) * 1000000000);
	}
	job_half_free(half);
	return severity;
}

Test(job_half, what_compares_ranks_is_inconclusive_once_a_host_says_that_the_event_mask_was_changed)
{
	enum rw_severity usual = severity_of_orders(0, 0);

	cr_expect(usual == RW_WARNING || usual == RW_CRITICAL);
	cr_expect_eq(severity_of_orders(RW_MESSAGE_MASKED, 0), RW_NOTICE);
	cr_expect_eq(severity_of_orders(RW_MESSAGE_MASKED, 31), RW_NOTICE, "the message comes behind the change");
}

/* What was last reported of a rank that has ended. */
struct gone {
	unsigned count;
	int32_t rank;
	enum rw_confidence confidence;
	uint32_t timeout_ms;
	double left_ms, waited_ms;
	char cause[96], text[256];
};

static void keep_gone(void *argument, const struct rw_finding *finding)
{
	struct gone *gone = argument;

	if (finding->kind != RW_KIND_GONE || finding->state != RW_FINDING_OPEN)
		return;
	gone->count++;
	gone->rank = finding->ranks[0];
	gone->confidence = finding->confidence;
	snprintf(gone->text, sizeof(gone->text), "%s", finding->text);
	gone->timeout_ms = finding->watchdog.present ? (uint32_t)finding->watchdog.timeout_ms : 0;
	gone->left_ms = finding->watchdog.left_ms;
	gone->waited_ms = finding->watchdog.longest_wait_ms;
	snprintf(gone->cause, sizeof(gone->cause), "%s", finding->cause.text);
}

/* Two ranks of two hosts wait, since 12 s ago, for rank 2 of a third host, which has ended. Their watchdogs:
 * `watchdogs_ms`. */
static struct gone end_while_others_wait(uint8_t life, int32_t exit_status, const uint32_t *watchdogs_ms)
{
	struct gone gone = { 0 };
	struct job_half *half = job_half_new("j", keep_gone, &gone);

	for (int32_t rank = 0; rank < 3; rank++) {
		const char host[] = { (char)('a' + rank), '\0' };
		struct batch batch = batch_of(host, 0, rank == 2 ? 2 : 3);
		batch.messages[0] = rank_message(rank, 0, rank == 2 ? life : RW_MESSAGE_ALIVE);
		batch.messages[0].of_rank.exit_status = rank == 2 ? exit_status : -1;
		batch.messages[0].of_rank.age_ms = 12000;
		batch.messages[0].of_rank.watchdog_ms = watchdogs_ms[rank];
		batch.messages[1] = member_message(rank, 9, 3);
		batch.messages[2] = flight_message(rank, 100, 12000);
		batch.messages[2].flight.phase = RW_PHASE_RUNNING;
		cr_assert_eq(take(half, &batch, 30, NULL), 0);
	}
	job_half_tick(half, 30000000000);
	job_half_free(half);
	return gone;
}

Test(job_half, tells_how_a_rank_has_ended)
{
	static const struct {
		uint8_t life;
		int32_t status;
		const char *cause;
	} cases[] = {
		{ RW_MESSAGE_EXITED, 3 << 8, "exited with status 3" }, { RW_MESSAGE_EXITED, 0, "exited with status 0" },
		{ RW_MESSAGE_KILLED, 9, "killed by signal 9" },	       { RW_MESSAGE_EXITED, -1, "exited" },
		{ RW_MESSAGE_KILLED, -1, "fell silent" },
	};
	static const uint32_t none[3] = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gone gone = end_while_others_wait(cases[i].life, cases[i].status, none);
		cr_expect_eq(gone.count, 1, "%s: %u findings", cases[i].cause, gone.count);
		cr_expect_eq(gone.rank, 2);
		cr_expect_str_eq(gone.cause, cases[i].cause);
		cr_expect_eq(gone.timeout_ms, 0, "no watchdog is known");
	}
}

/* The job ends with the first watchdog of those who wait; the one of the rank that has ended counts only where no other
 * is known. */
Test(job_half, tells_the_watchdog_that_ends_first)
{
	static const struct {
		uint32_t watchdogs_ms[3], timeout_ms;
		double left_ms;
	} cases[] = {
		{ { 600000, 300000, 60000 }, 300000, 288000 }, { { 300000, 600000, 60000 }, 300000, 288000 }, { { 0, 600000, 60000 }, 600000, 588000 },
		{ { 600000, 0, 60000 }, 600000, 588000 },      { { 0, 0, 60000 }, 60000, 48000 },	      { { 11000, 0, 0 }, 11000, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gone gone = end_while_others_wait(RW_MESSAGE_KILLED, 9, cases[i].watchdogs_ms);
		cr_expect_eq(gone.timeout_ms, cases[i].timeout_ms, "case %zu: %u ms", i, gone.timeout_ms);
		cr_expect_float_eq(gone.left_ms, cases[i].left_ms, 1e-6, "case %zu: %f ms", i, gone.left_ms);
		cr_expect_float_eq(gone.waited_ms, 12000, 1e-6, "case %zu: %f ms", i, gone.waited_ms);
	}
}

enum { WAITS, CLEAN, FAILED, ABORTED, ASKED, KILLED, CRASHED };

/* Four ranks of these hosts, each of which waits for the others, or has ended so, and so long ago. */
struct ended {
	const char *what, *hosts;
	int how[4];
	uint32_t age_ms[4];
	int rank; /* -1: nobody is reported */
	enum rw_confidence confidence;
	const char *text;
	bool waited[4]; /* its host said at the end that it waited for the others */
};

static struct gone end_together(const struct ended *ended)
{
	static const int statuses[] = {
		[WAITS] = -1, [CLEAN] = 0, [FAILED] = 1 << 8, [ABORTED] = 6, [ASKED] = 15, [KILLED] = 9, [CRASHED] = 11
	};
	struct gone gone = { 0 };
	struct job_half *half = job_half_new("j", keep_gone, &gone);

	for (int32_t rank = 0; rank < 4; rank++) {
		const char host[] = { ended->hosts[rank], '\0' };
		int how = ended->how[rank];
		bool again = rank && ended->hosts[rank] == ended->hosts[rank - 1];
		struct batch batch = batch_of(host, again, how == WAITS || ended->waited[rank] ? 3 : 2);
		batch.messages[0] = rank_message(rank, 0,
						 how == WAITS    ? RW_MESSAGE_ALIVE
						 : how <= FAILED ? RW_MESSAGE_EXITED
								 : RW_MESSAGE_KILLED);
		batch.messages[0].of_rank.exit_status = statuses[how];
		batch.messages[0].of_rank.world_size = 4;
		batch.messages[0].of_rank.age_ms = 12000 - ended->age_ms[rank];
		batch.messages[1] = member_message(rank, 9, 4);
		batch.messages[2] = flight_message(rank, 100, 12000);
		batch.messages[2].flight.phase = RW_PHASE_RUNNING;
		cr_assert_eq(take(half, &batch, 30, NULL), 0);
	}
	job_half_tick(half, 30000000000);
	job_half_free(half);
	return gone;
}

/* NCCL ends all ranks within milliseconds of one that is killed, and hosts see that in any order. */
Test(job_half, of_ranks_that_ended_together_names_the_only_one_that_was_killed_elsewhere)
{
	static const struct ended cases[] = {
		{ "all others failed", "abcd", { FAILED, FAILED, KILLED, FAILED }, { 3, 1, 9, 5 }, 2, RW_LIKELY,
		  "rank 2 was killed by signal 9, and ranks 0,1,3 ended with it" },
		{ "it crashed", "abcd", { FAILED, ABORTED, CRASHED, ABORTED }, { 0 }, 2, RW_LIKELY, NULL },
		{ "one waits", "abcd", { WAITS, FAILED, KILLED, FAILED }, { 0, 1, 9, 5 }, 2, RW_LIKELY,
		  "rank 2 was killed by signal 9: rank 0 waits for it in " },
		{ "two wait", "abcd", { WAITS, WAITS, KILLED, FAILED }, { 0, 0, 9, 5 }, 2, RW_LIKELY, NULL },
		{ "its mates were asked to end", "abcd", { FAILED, FAILED, KILLED, ASKED }, { 0 }, 2, RW_LIKELY, NULL },
		{ "only a rank of its host failed", "abcc", { WAITS, WAITS, KILLED, FAILED }, { 0 }, 2, RW_INCONCLUSIVE, NULL },
		{ "all failed", "abcd", { FAILED, FAILED, FAILED, FAILED }, { 0 }, -1, 0, NULL },
		{ "all were killed", "abcd", { KILLED, KILLED, KILLED, KILLED }, { 0 }, -1, 0, NULL },
		{ "all but one were killed", "abcd", { KILLED, FAILED, KILLED, KILLED }, { 0 }, -1, 0, NULL },
		{ "all were asked to", "abcd", { ASKED, ASKED, ASKED, ASKED }, { 0, 2000, 0, 0 }, -1, 0, NULL },
		{ "one was asked to, and then all failed", "abcd", { ASKED, FAILED, FAILED, FAILED }, { 0, 2000, 2000, 2000 }, -1, 0, NULL },
		{ "one is through", "abcd", { CLEAN, FAILED, KILLED, FAILED }, { 0 }, -1, 0, NULL },
		{ "one failed well before the others", "abcd", { FAILED, FAILED, FAILED, FAILED }, { 3000, 0, 3100, 3000 }, 1, RW_LIKELY,
		  "rank 1 exited with status 1, 3.00 s before ranks 0,2,3 ended" },
		{ "one failed before the others, which took their time", "abcd", { FAILED, FAILED, FAILED, FAILED }, { 2000, 0, 3100, 4000 }, -1, 0, NULL },
		{ "two failed while two wait", "abcd", { WAITS, FAILED, WAITS, FAILED }, { 0 }, 1, RW_INCONCLUSIVE, NULL, { 0 } },
		{ "all failed, one of them where nobody waits", "abcd", { FAILED, ABORTED, FAILED, FAILED }, { 3, 1, 9, 5 }, 2, RW_INCONCLUSIVE,
		  "rank 2 exited with status 1, and ranks 0,1,3 ended with it", { true, true, false, true } },
		{ "all failed, two of them where nobody waits", "abcd", { FAILED, FAILED, FAILED, FAILED }, { 0 }, -1, 0, NULL, { true, false, false, true } },
		{ "all failed, and all had come", "abcd", { FAILED, FAILED, FAILED, FAILED }, { 0 }, -1, 0, NULL, { true, true, true, true } },
		{ "one was asked to end, and one failed where nobody waits", "abcd", { ASKED, FAILED, FAILED, FAILED }, { 0 }, -1, 0, NULL,
		  { true, true, false, true } },
		{ "one failed, and its launcher asked its mate to end", "aabb", { WAITS, WAITS, ASKED, FAILED }, { 0 }, 3, RW_INCONCLUSIVE,
		  "rank 3 exited with status 1: ranks 0,1 wait for it in ", { 0 } },
		{ "one failed, and all are asked to end", "abcd", { WAITS, ASKED, ASKED, FAILED }, { 0 }, 1, RW_INCONCLUSIVE, NULL, { 0 } },
		{ "two failed while two wait, one of them where nobody waits", "abcd", { WAITS, FAILED, FAILED, WAITS }, { 0 }, 2, RW_INCONCLUSIVE,
		  "rank 2 exited with status 1: ranks 0,3 wait for it in ", { false, true, false, false } },
		{ "three failed while one waits, one of them where nobody waits", "abcd", { WAITS, FAILED, FAILED, FAILED }, { 0 }, 2, RW_INCONCLUSIVE,
		  "rank 2 exited with status 1: rank 0 waits for it in ", { false, true, false, true } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gone gone = end_together(&cases[i]);
		cr_expect_eq(gone.count, cases[i].rank >= 0, "%s: %u findings: %s", cases[i].what, gone.count, gone.text);
		if (!gone.count || cases[i].rank < 0)
			continue;
		cr_expect_eq(gone.rank, cases[i].rank, "%s: %s", cases[i].what, gone.text);
		cr_expect_eq(gone.confidence, cases[i].confidence, "%s: %d", cases[i].what, gone.confidence);
		cr_expect(!cases[i].text || strstr(gone.text, cases[i].text), "%s: %s", cases[i].what, gone.text);
	}
}

static void keep_hang(void *argument, const struct rw_finding *finding)
{
	struct rw_finding *kept = argument;

	if (finding->kind == RW_KIND_HANG && finding->state != RW_FINDING_CLOSED)
		*kept = *finding;
}

/* Rank 0 sends to rank 1 of another host, which makes no progress, as its host sees, and has no unfinished operation,
 * as that says. */
static struct rw_finding send_to_one_that_stands(uint8_t flags)
{
	struct rw_finding finding = { .confidence = RW_INCONCLUSIVE };
	struct job_half *half = job_half_new("j", keep_hang, &finding);

	for (uint64_t second = 0; second < 20; second++) {
		for (int32_t rank = 0; rank < 2; rank++) {
			struct batch batch = batch_of(rank ? "b" : "a", second, 3);
			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			batch.messages[1] = (struct rw_message){ .type = RW_MESSAGE_MEMBER, .rank = rank,
								 .member = { .comm = 9, .size = 2, .comm_rank = rank, .hosts = 2,
									     .flags = RW_MESSAGE_SENDS | (rank ? flags : 0) } };
			batch.messages[2] = flight_message(rank, 100, (uint32_t)second * 1000 + 1000);
			batch.messages[2].function = RW_FUNCTION_SEND;
			batch.messages[2].flight.peer_or_root = 1 - rank;
			if (rank)
				batch.messages[2] = (struct rw_message){ .type = RW_MESSAGE_WHY, .rank = rank,
									 .why = { .progress = RW_MESSAGE_STANDS, .level = RW_LEVEL_PROC, .text = "futex(2)" } };
			cr_assert_eq(take(half, &batch, 20 + (double)second, NULL), 0);
		}
		job_half_tick(half, (20 + second) * 1000000000);
	}
	job_half_free(half);
	return finding;
}

/* Where the GPU's progress is not followed, a host does not see that its rank is in a transfer. */
Test(job_half, names_nobody_who_may_be_in_a_transfer_that_is_not_followed)
{
	struct rw_finding finding = send_to_one_that_stands(0);

	cr_expect_eq(finding.kind, RW_KIND_HANG);
	cr_expect_eq(finding.confidence, RW_LIKELY);
	cr_expect_eq(finding.operation.function, RW_FUNCTION_SEND);
	finding = send_to_one_that_stands(RW_MESSAGE_UNFOLLOWED);
	cr_expect_eq(finding.first_seen_ns, 0, "%d", finding.confidence);
}

static void keep_first(void *argument, const struct rw_finding *finding)
{
	struct rw_finding *kept = argument;

	if (!kept->first_seen_ns && finding->state == RW_FINDING_OPEN)
		*kept = *finding;
}

/* A scheduler stops the ranks of three hosts, that of the third one a second before the others, and lets them go on at
 * second 30, the third one never. Until second `until`; the first finding. */
static struct rw_finding stop_all(double until, bool differ)
{
	struct rw_finding first = { 0 };
	struct job_half *half = job_half_new("j", keep_first, &first);

	for (int at = 40; at / 2.0 <= until; at++) {
		for (int32_t rank = 0; rank < 3; rank++) {
			const char host[] = { (char)('a' + rank), '\0' };
			struct batch batch = batch_of(host, (uint64_t)at, rank == 2 || (at == 60 && !rank) ? 2 : 3);
			bool stopped = rank == 2 || at < 60;
			batch.messages[0] = rank_message(rank, 0, stopped ? RW_MESSAGE_STOPPED : RW_MESSAGE_ALIVE);
			batch.messages[0].of_rank.age_ms = (uint32_t)(stopped ? at - 40 : at - 60) * 500;
			batch.messages[1] = member_message(rank, 9, 3);
			batch.messages[2] = flight_message(rank, differ ? 100 + (uint64_t)rank : 100, (uint32_t)(at - 38) * 500);
			cr_assert_eq(take(half, &batch, at / 2.0, NULL), 0);
		}
		job_half_tick(half, (uint64_t)(at * 500000000.0));
	}
	job_half_free(half);
	return first;
}

Test(job_half, a_rank_waits_since_it_went_on)
{
	cr_expect_eq(stop_all(32.5, false).first_seen_ns, 0);
	cr_expect_eq(stop_all(32.5, true).first_seen_ns, 0);
	struct rw_finding finding = stop_all(33.5, false);
	cr_expect_eq(finding.kind, RW_KIND_GONE);
	cr_expect_eq(finding.first_seen_ns, 30000000000);
}

/* Two ranks wait in an operation that the third one's host has launched, too. */
static struct rw_finding launch_behind(uint8_t flag)
{
	struct rw_finding finding = { 0 };
	struct job_half *half = job_half_new("j", keep_hang, &finding);

	for (int32_t rank = 0; rank < 3; rank++) {
		const char host[] = { (char)('a' + rank), '\0' };
		struct batch batch = batch_of(host, 0, 3);
		batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
		batch.messages[1] = member_message(rank, 9, 3);
		batch.messages[2] = flight_message(rank, 100, 40000);
		if (rank == 2)
			batch.messages[2].flight.flags = RW_MESSAGE_HOLDS | flag;
		cr_assert_eq(take(half, &batch, 50, NULL), 0);
	}
	job_half_tick(half, 50000000000);
	job_half_free(half);
	return finding;
}

Test(job_half, names_nobody_whose_gpu_may_stand_in_an_operation_before)
{
	struct rw_finding finding = launch_behind(0);

	cr_expect_eq(finding.kind, RW_KIND_HANG);
	cr_expect_eq(finding.operation.function, RW_FUNCTION_ALL_GATHER);
	finding = launch_behind(RW_MESSAGE_BEHIND);
	cr_expect_eq(finding.first_seen_ns, 0, "%d", finding.confidence);
}

static void keep_operation(void *argument, const struct rw_finding *finding)
{
	struct rw_finding *kept = argument;

	if (finding->kind == RW_KIND_HANG && finding->state == RW_FINDING_OPEN)
		*kept = *finding;
}

/* All have come to what stands on two communicators: it is the one that has stood longer that does not end, whichever
 * was heard of first. */
Test(job_half, of_two_operations_that_do_not_end_tells_of_the_one_that_has_stood_longer)
{
	enum { OLD_MS = 21000, NEW_MS = 13000 };

	for (int first = 0; first < 2; first++) {
		struct rw_finding finding = { 0 };
		struct job_half *half = job_half_new("j", keep_operation, &finding);
		for (int32_t rank = 0; rank < 2; rank++) {
			struct batch batch = batch_of(rank ? "b" : "a", 0, 5);
			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			for (int i = 0; i < 2; i++) {
				bool old = i == first;
				batch.messages[1 + i] = member_message(rank, old ? 9 : 8, 2);
				batch.messages[3 + i] = flight_message(rank, old ? 100 : 200, old ? OLD_MS : NEW_MS);
				batch.messages[3 + i].flight.comm = old ? 9 : 8;
				batch.messages[3 + i].flight.phase = RW_PHASE_RUNNING;
			}
			cr_assert_eq(take(half, &batch, 30, NULL), 0);
		}
		job_half_tick(half, 30500000000);
		cr_expect_eq(finding.kind, RW_KIND_HANG, "told in order %d", first);
		cr_expect_eq(finding.operation.sequence, 100, "told in order %d: %lu", first, finding.operation.sequence);
		cr_expect_eq(finding.first_seen_ns, 30000000000 - OLD_MS * UINT64_C(1000000));
		job_half_free(half);
	}
}

/* Two ranks of two hosts, each of which waits on one communicator and has not called on the other one what is awaited
 * there. */
static void keep_hangs_of_two(uint8_t still, struct rw_finding *finding)
{
	struct job_half *half = job_half_new("j", keep_operation, finding);

	for (uint64_t second = 0; second < 16; second++) {
		for (int32_t rank = 0; rank < 2; rank++) {
			struct batch batch = batch_of(rank ? "b" : "a", second, 5);
			batch.messages[0] = rank_message(rank, 0, RW_MESSAGE_ALIVE);
			for (int32_t i = 0; i < 2; i++)
				batch.messages[1 + i] = member_message(rank, 9u + (uint64_t)i, 2);
			batch.messages[3] = flight_message(rank, 100, (uint32_t)second * 1000);
			batch.messages[3].flight.comm = 9u + (uint64_t)rank;
			batch.messages[3].flight.flags |= rank ? still : RW_MESSAGE_STILL;
			batch.messages[4] = (struct rw_message){ .type = RW_MESSAGE_CALLS, .function = RW_FUNCTION_ALL_GATHER, .rank = rank,
								 .calls = { .comm = 10u - (uint64_t)rank, .next = 100, .calls = UINT64_MAX } };
			cr_assert_eq(take(half, &batch, 20 + (double)second, NULL), 0);
		}
		job_half_tick(half, (20 + second) * 1000000000);
	}
	job_half_free(half);
}

Test(job_half, tells_of_no_circle_while_a_gpu_goes_on)
{
	struct rw_finding finding = { 0 };

	keep_hangs_of_two(RW_MESSAGE_STILL, &finding);
	cr_expect_eq(finding.kind, RW_KIND_HANG);
	cr_expect_eq(finding.confidence, RW_INCONCLUSIVE);
	cr_expect_eq(finding.operation.sequence, 100);
	finding = (struct rw_finding){ 0 };
	keep_hangs_of_two(0, &finding);
	cr_expect_eq(finding.state + finding.first_seen_ns, 0, "another stream of rank 1 may lead to what rank 0 waits for");
}
