/* SPDX-License-Identifier: MIT */
/* NCCL connects at first use, on the host and before the launch: who waits there stands as one whose kernel runs. And
 * what is said where nobody is missing. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/small_job.h"

enum {
	CALLED = RW_KNOWN_IDENT | RW_KNOWN_API,
	RETURNED = CALLED | RW_KNOWN_RETURN,
	LAUNCHED = RETURNED | RW_KNOWN_TASK | RW_KNOWN_LAUNCH,
	STARTED = LAUNCHED | RW_KNOWN_STARTED,
	DONE = STARTED | RW_KNOWN_DONE,
};

static const double called_at = 1000;

/* The rank's operation of that number, as its box has it now. */
static void tell(struct small_job *job, int rank, uint64_t number, uint32_t known, uint32_t flags)
{
	uint64_t at_ns = (uint64_t)(called_at * 1e9) + number * 1000000;
	const struct rw_operation operation = {
		.ticket = number + 1,
		.known = known,
		.owner = RW_OWNER_HOST,
		.flags = flags,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 1000,
		.sequence = number,
		.api_tid = 100,
		.group = (uint32_t)number + 1,
		.api_ns = at_ns,
		.return_ns = at_ns + 1000,
		.launch_begin_ns = at_ns,
		.launch_end_ns = at_ns,
		.progress = number + 1,
		.started_seen_ns = at_ns + 2000,
		.done_seen_ns = at_ns + 3000,
	};

	cr_assert_eq(analysis_add_operation(job->analysis, (analysis_process_id)rank, &operation), 0);
}

static void tell_all_but(struct small_job *job, int but, uint32_t known, uint32_t flags)
{
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++)
		if (rank != but)
			tell(job, rank, 0, known, flags);
}

static void wait_seconds(struct small_job *job, int seconds)
{
	for (int i = 1; i <= 10 * seconds; i++)
		small_job_tick(job, called_at + i / 10.0);
}

static void check_named(const struct small_job *job, int rank)
{
	const struct small_job_finding *finding = small_job_last(job);

	cr_expect_eq(finding->kind, RW_KIND_HANG, "%s", finding->text);
	cr_expect_eq(finding->rank_count, 1, "%s", finding->text);
	cr_expect_eq(finding->rank, rank, "%s", finding->text);
}

/* In the call, and in it when it has returned because the communicator does not block. */
static const struct {
	uint32_t known, flags;
} insides[] = { { CALLED, RW_FLAG_ENTERED },
		{ RETURNED, RW_FLAG_IN_PROGRESS },
		{ RETURNED, RW_FLAG_ENTERED | RW_FLAG_IN_PROGRESS } };

Test(connect, who_does_not_come_to_the_first_operation_is_named)
{
	for (size_t i = 0; i < sizeof(insides) / sizeof(*insides); i++) {
		struct small_job job;

		small_job_open(&job);
		small_job_start(&job);
		tell_all_but(&job, 1, insides[i].known, insides[i].flags);
		wait_seconds(&job, 9);
		cr_expect_eq(job.count, 0);
		wait_seconds(&job, 12);
		check_named(&job, 1);
		cr_expect(strstr(job.findings[0].text, "rank 1 has not joined AllReduce #0"), "%s", job.findings[0].text);
		small_job_close(&job);
	}
}

/* Nothing says that NCCL is at work on it: in a group that is still open, or told of by nobody any more. */
Test(connect, one_that_may_not_be_inside_nccl_waits_for_nobody)
{
	static const struct {
		uint32_t known, flags;
	} others[] = { { CALLED, 0 },
		       { RETURNED, 0 },
		       { RETURNED, RW_FLAG_ENTERED },
		       { RETURNED, RW_FLAG_IN_PROGRESS | RW_FLAG_UNTRACKED | RW_UNTRACKED_NO_TASK << RW_FLAG_UNTRACKED_SHIFT } };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct small_job job;

		small_job_open(&job);
		small_job_start(&job);
		tell_all_but(&job, 1, others[i].known, others[i].flags);
		wait_seconds(&job, 60);
		cr_expect_eq(job.count, 0, "case %zu: %s", i, job.count ? job.findings[0].text : "");
		small_job_close(&job);
	}
}

struct flight {
	size_t count, joined;
	char phase[16];
};

static void visit(void *argument, const struct analysis_flight *flight)
{
	struct flight *seen = argument;

	seen->count++;
	seen->joined = flight->joined_count;
	strncpy(seen->phase, flight->joined_phase[0], sizeof(seen->phase) - 1);
}

static struct flight flight_of(uint32_t known, uint32_t flags)
{
	struct small_job job;
	struct flight seen = { 0 };

	small_job_open(&job);
	small_job_start(&job);
	tell_all_but(&job, 1, known, flags);
	analysis_visit_flights(job.analysis, visit, &seen);
	small_job_close(&job);
	return seen;
}

Test(connect, what_has_returned_without_a_launch_is_in_flight_and_unknown)
{
	struct flight seen = flight_of(RETURNED, 0);

	cr_expect_eq(seen.count, 1);
	cr_expect_eq(seen.joined, SMALL_JOB_RANKS - 1);
	cr_expect_str_eq(seen.phase, "unknown");
	cr_expect_str_eq(flight_of(RETURNED, RW_FLAG_IN_PROGRESS).phase, "connect");
	cr_expect_str_eq(flight_of(CALLED, RW_FLAG_ENTERED).phase, "connect");
	cr_expect_str_eq(flight_of(CALLED, 0).phase, "enqueued");
	cr_expect_str_eq(flight_of(LAUNCHED, RW_FLAG_ENTERED).phase, "launched");
}

/* A host may sit in a launch because the queue of its GPU is full. */
Test(connect, a_rank_whose_gpu_has_not_come_is_named_although_its_host_is_inside_the_next_call)
{
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
		tell(&job, rank, 0, rank == 2 ? LAUNCHED : STARTED, 0);
		tell(&job, rank, 1, CALLED, RW_FLAG_ENTERED);
	}
	wait_seconds(&job, 12);
	check_named(&job, 2);
	small_job_close(&job);
}

Test(connect, a_slow_connection_of_all_is_noted_and_told_when_it_takes_too_long)
{
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	tell_all_but(&job, -1, CALLED, RW_FLAG_ENTERED);
	wait_seconds(&job, 9);
	cr_expect_eq(job.count, 0);
	wait_seconds(&job, 29);
	cr_assert(job.count);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->scope, RW_SCOPE_JOB);
	cr_expect_eq(finding->standing, RW_STANDING_TOGETHER);
	cr_expect_eq(finding->rank_count, 0);
	cr_expect_eq(finding->severity, RW_NOTICE);
	cr_expect_eq(finding->confidence, RW_INCONCLUSIVE);
	cr_expect(strstr(finding->text, "ranks 0-3 have reached AllReduce #0"), "%s", finding->text);
	wait_seconds(&job, 32);
	cr_expect_eq(small_job_last(&job)->severity, RW_WARNING);
	/* Connected, and in the kernel ever since: another story. */
	tell_all_but(&job, -1, STARTED, RW_FLAG_ENTERED);
	size_t told = job.count;
	small_job_tick(&job, called_at + 33);
	cr_expect_eq(job.findings[told].state, RW_FINDING_CLOSED);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_OPEN);
	cr_expect(strstr(small_job_last(&job)->text, "it has not finished"), "%s", small_job_last(&job)->text);
	small_job_close(&job);
}

/* All kernels run, and nothing ends: a link, or a GPU that is full. */
Test(connect, what_all_have_begun_and_nobody_ends_is_told_and_names_nobody)
{
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	tell_all_but(&job, -1, STARTED, 0);
	wait_seconds(&job, 9);
	cr_expect_eq(job.count, 0);
	wait_seconds(&job, 12); /* while no step is known that is both times */
	cr_assert(job.count);
	const struct small_job_finding *finding = small_job_last(&job);
	cr_expect_eq(finding->kind, RW_KIND_HANG);
	cr_expect_eq(finding->scope, RW_SCOPE_JOB);
	cr_expect_eq(finding->rank_count, 0);
	cr_expect_eq(finding->severity, RW_WARNING);
	cr_expect_eq(finding->confidence, RW_INCONCLUSIVE);
	cr_expect(strstr(finding->text, "ranks 0-3 have reached AllReduce #0"), "%s", finding->text);
	cr_expect(strstr(finding->text, "it has not finished after 1"), "%s", finding->text);
	tell_all_but(&job, -1, DONE, 0);
	small_job_tick(&job, called_at + 13);
	cr_expect_eq(small_job_last(&job)->state, RW_FINDING_CLOSED);
	small_job_close(&job);
}

/* One has ended it, one is known by its host alone, one has not come: then nothing is said of all of them. */
Test(connect, what_not_all_gpus_are_in_is_no_standstill)
{
	static const struct {
		uint32_t known, flags;
	} others[] = { { DONE, 0 }, { LAUNCHED, RW_FLAG_UNTRACKED }, { LAUNCHED, 0 } };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct small_job job;

		small_job_open(&job);
		small_job_start(&job);
		tell_all_but(&job, 1, STARTED, 0);
		tell(&job, 1, 0, others[i].known, others[i].flags);
		wait_seconds(&job, 60);
		for (size_t k = 0; k < job.count; k++)
			cr_expect_neq(job.findings[k].scope, RW_SCOPE_JOB, "case %zu: %s", i, job.findings[k].text);
		small_job_close(&job);
	}
}

/* Once told it stays: of a long wait the readings of its beginning are no longer kept. */
static void wait_beside_a_port(struct small_job *job, int32_t hosts)
{
	struct analysis_port_state port = { .name = "eth0", .active = true, .mbit_s = 25000 };

	small_job_open(job);
	job->hosts = hosts;
	small_job_start(job);
	tell_all_but(job, -1, CALLED, RW_FLAG_ENTERED);
	for (int second = -20; second < 900; second += 2) {
		port.at_ns = (uint64_t)((called_at + second) * 1e9);
		port.active = second < -4 || second > 4;
		port.counts[ANALYSIS_PORT_DOWNED] = second >= -4;
		cr_assert_eq(analysis_add_port_state(job->analysis, &port), 0);
		if (second > 0)
			small_job_tick(job, called_at + second);
	}
	cr_expect_eq(small_job_last(job)->scope, RW_SCOPE_JOB);
	cr_expect_eq(small_job_last(job)->severity, RW_WARNING);
	cr_expect_eq(small_job_last(job)->confidence, RW_INCONCLUSIVE);
}

Test(connect, what_a_port_showed_when_it_began_is_said_for_as_long_as_it_lasts)
{
	struct small_job job;

	wait_beside_a_port(&job, 2);
	cr_assert_eq(small_job_last(&job)->evidence_count, 1);
	cr_expect_str_eq(small_job_last(&job)->evidence[0],
			 "eth0: link went down once (between 6 s before and 4 s before it began)");
	small_job_close(&job);
	wait_beside_a_port(&job, 0);
	cr_expect_eq(small_job_last(&job)->evidence_count, 1, "an older NCCL does not say how many hosts there are");
	small_job_close(&job);
	wait_beside_a_port(&job, 1);
	cr_expect_eq(small_job_last(&job)->evidence_count, 0, "within a host there is no network");
	small_job_close(&job);
}

Test(connect, a_late_operation_is_an_ordinary_one)
{
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	tell_all_but(&job, 1, RETURNED, RW_FLAG_IN_PROGRESS);
	wait_seconds(&job, 6);
	tell_all_but(&job, -1, DONE, RW_FLAG_IN_PROGRESS);
	wait_seconds(&job, 60);
	cr_expect_eq(job.count, 0);
	small_job_close(&job);
}
