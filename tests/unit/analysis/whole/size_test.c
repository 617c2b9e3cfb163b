/* SPDX-License-Identifier: MIT */
/* Communicators of which NCCL does not tell the size, and entries of the communicator table that get a new owner. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/analysis/jobs/played.h"

static const struct history_job eight = {
	.ranks = 8, .steps = 40, .layers = 4, .compute_ms = 40, .jitter_ms = 2, .no_sizes = true, .tail_ms = 8000
};

static void expect_only(const struct played *run, int rank)
{
	size_t loud = 0;

	for (size_t i = 0; i < run->count; i++) {
		if (run->findings[i].severity == RW_NOTICE)
			continue;
		loud++;
		cr_expect_eq(run->findings[i].rank, rank, "%s", run->findings[i].text);
		cr_expect_neq(run->findings[i].confidence, RW_CERTAIN, "%s", run->findings[i].text);
		cr_expect_gt(run->findings[i].missing_count, 0, "partial sight is said");
	}
	cr_expect_gt(loud, 0);
}

Test(size, not_known_names_the_straggler_as_likely)
{
	struct history_job job = eight;

	job.no_world = true;
	job.faults[0] =
	    (struct history_fault){ FAULT_HOST, 3, .first_step = 10, .ms = 400, .evidence = EVIDENCE_FSYNC };
	struct played run = play(&job);
	expect_only(&run, 3);
	end(&run);
}

Test(size, not_known_names_who_never_came_as_likely)
{
	struct history_job job = eight;

	job.no_world = true;
	job.tensor_parallel = 2;
	job.faults[0] = (struct history_fault){ FAULT_NEVER, 5, .first_step = 20, .evidence = EVIDENCE_SLEEP };
	struct played run = play(&job);
	expect_only(&run, 5);
	end(&run);
}

Test(size, not_known_names_nobody_for_a_rank_that_was_not_seen)
{
	struct history_job job = eight;

	job.no_world = true;
	job.seen = 7;
	job.faults[0] = (struct history_fault){ FAULT_NEVER, 7, .first_step = 20 };
	struct played run = play(&job);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].severity, RW_NOTICE, "%s", run.findings[i].text);
	end(&run);
}

/* Whole for certain: as many ranks as the launcher's world, and one device a process. */
Test(size, is_certain_when_as_many_as_the_launchers_world_were_seen)
{
	struct history_job job = eight;
	bool certain = false;

	job.faults[0] =
	    (struct history_fault){ FAULT_HOST, 3, .first_step = 10, .ms = 400, .evidence = EVIDENCE_FSYNC };
	struct played run = play(&job);
	for (size_t i = 0; i < run.count; i++) {
		certain |= run.findings[i].rank == 3 && run.findings[i].confidence == RW_CERTAIN;
		cr_expect_null(strstr(run.findings[i].comm_name, "not known"), "%s", run.findings[i].comm_name);
	}
	cr_expect(certain);
	end(&run);
}

Test(size, healthy_jobs_stay_silent_without_it)
{
	struct history_job job = eight;

	job.no_world = true;
	job.tensor_parallel = 2;
	struct played run = play(&job);
	for (size_t i = 0; i < run.count; i++)
		cr_expect_eq(run.findings[i].severity, RW_NOTICE, "%s", run.findings[i].text);
	end(&run);
}

static void ignore(void *argument, const struct rw_finding *finding)
{
	(void)argument, (void)finding;
}

struct flights {
	int count;
	int32_t size, unseen;
	uint64_t comm;
};

static void note(void *argument, const struct analysis_flight *flight)
{
	struct flights *flights = argument;

	flights->count++;
	flights->size = flight->comm_size;
	flights->unseen = flight->unseen;
	flights->comm = flight->comm;
}

static struct rw_operation enqueued(uint64_t ticket, uint64_t api_ns)
{
	return (struct rw_operation){
		.ticket = ticket,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API,
		.owner = RW_OWNER_HOST,
		.function = RW_FUNCTION_ALL_REDUCE,
		.dtype = RW_DTYPE_FLOAT32,
		.count = 1,
		.api_ns = api_ns,
	};
}

static struct analysis *with_process(void)
{
	static const struct rw_box_header box = { .world_rank = -1, .world_size = -1 };
	struct analysis *analysis = analysis_new(true, ignore, NULL);

	cr_assert(analysis);
	cr_assert_eq(analysis_add_process(analysis, &(struct analysis_process){ .id = 1, .pid = 1, .box = &box }), 0);
	return analysis;
}

Test(size, not_known_is_said_of_an_operation_in_flight)
{
	struct rw_communicator entry = { .id = 5, .rank = 2, .created_ns = 10 };
	struct rw_operation operation = enqueued(1, 20);
	struct flights flights = { 0 };
	struct analysis *analysis = with_process();
	struct analysis_summary summary;

	cr_assert_eq(analysis_add_communicator(analysis, 1, 0, &entry), 0);
	cr_assert_eq(analysis_add_operation(analysis, 1, &operation), 0);
	analysis_visit_flights(analysis, note, &flights);
	analysis_summarise(analysis, &summary);
	cr_expect_eq(flights.count, 1);
	cr_expect_eq(flights.size, 0);
	cr_expect_eq(flights.unseen, -1);
	cr_expect_eq(summary.ranks_total, -1);
	analysis_free(analysis);
}

Test(size, an_operation_from_before_the_entrys_owner_is_of_nobody)
{
	struct rw_communicator first = { .id = 5, .rank = 0, .nranks = 2, .created_ns = 10 };
	struct rw_communicator second = { .id = 6, .rank = 1, .nranks = 4, .created_ns = 100 };
	struct rw_operation early = enqueued(1, 50), late = enqueued(2, 110);
	struct flights flights = { 0 };
	struct analysis *analysis = with_process();

	cr_assert_eq(analysis_add_communicator(analysis, 1, 0, &first), 0);
	cr_assert_eq(analysis_add_communicator(analysis, 1, 0, &second), 0);
	cr_assert_eq(analysis_add_operation(analysis, 1, &early), 0);
	analysis_visit_flights(analysis, note, &flights);
	cr_expect_eq(flights.count, 0);
	cr_assert_eq(analysis_add_operation(analysis, 1, &late), 0);
	analysis_visit_flights(analysis, note, &flights);
	cr_expect_eq(flights.count, 1);
	cr_expect_eq(flights.comm, 6);
	cr_expect_eq(flights.size, 4);
	analysis_free(analysis);
}
