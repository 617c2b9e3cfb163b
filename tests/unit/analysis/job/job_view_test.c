/* SPDX-License-Identifier: MIT */
/* What somebody sees who looks at all nodes: by the messages of played hosts. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "analysis/job/job_view.h"
#include "tests/unit/analysis/jobs/many_hosts.h"

enum { RANKS = 8, SLOW = 3 };

static struct analysis_rank_view rows[RANKS];
static char operations[RANKS][96], hosts[RANKS][64];
static size_t row_count, flights, communicators, missing_count;
static int32_t missing[RANKS];
static struct analysis_deadline deadline;
static struct analysis_summary summary;
static double lost_ms[RANKS];
static size_t columns;

static void keep_row(void *argument, const struct analysis_rank_view *rank)
{
	(void)argument;
	cr_assert_lt(rank->rank, RANKS);
	rows[rank->rank] = *rank;
	snprintf(hosts[rank->rank], sizeof(hosts[0]), "%s", rank->host);
	snprintf(operations[rank->rank], sizeof(operations[0]), "%s", rank->comm_name);
	row_count++;
}

static void keep_flight(void *argument, const struct analysis_flight *flight)
{
	(void)argument;
	flights++;
	missing_count = flight->missing_count;
	memcpy(missing, flight->missing, flight->missing_count * sizeof(*missing));
	cr_expect_eq(flight->joined_count + flight->missing_count + (size_t)flight->unseen, (size_t)flight->comm_size);
}

static void keep_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	(void)argument;
	communicators++;
	cr_expect_gt(communicator->member_count, 1);
}

struct places {
	int32_t ranks[RANKS];
	size_t count;
};

static void keep_place(void *argument, const struct analysis_rank_view *rank)
{
	struct places *places = argument;

	places->ranks[places->count++] = rank->rank;
}

static void look(const struct job_half *half)
{
	struct job_view view;
	struct places places = { 0 };

	job_half_look(half, &view);
	job_view_ranks(&view, keep_row, NULL);
	job_view_flights(&view, keep_flight, NULL);
	job_view_communicators(&view, keep_communicator, NULL);
	job_view_deadline(&view, &deadline);
	job_view_summary(&view, &summary);
	job_view_ranks(&view, keep_place, &places);
	const struct cells *cells = job_view_cells(&view);
	columns = cells->count;
	for (size_t i = 0; i < cells->count; i++)
		for (uint32_t k = 0; k < cells->columns[i].rank_count; k++)
			lost_ms[places.ranks[k]] += (double)cells->columns[i].cells[k].lost_ms;
}

static void play(enum many_hosts_fault fault)
{
	static struct many_hosts_result result;
	const struct many_hosts_job job = {
		.hosts = 4,
		.per_host = 2,
		.shape = MANY_FLAT,
		.operations = 20,
		.step_ms = 500,
		.jitter = 0.05,
		.noise = 0.02,
		.lasts = 0.5,
		.differences = 0.01,
		.fault = fault,
		.rank = SLOW,
		.slow = 0.25,
		.at_s = 20,
		.seconds = 40,
		.lose = 0.02,
		.delay_ms = 200,
		.seed = 5,
	};

	many_hosts_look(look);
	many_hosts_play(&job, &result);
	many_hosts_look(NULL);
}

Test(job_view, shows_where_the_time_went_and_whom_the_others_waited_for)
{
	play(MANY_SLOW_RANK);
	cr_assert_eq(row_count, RANKS);
	cr_expect_eq(summary.processes, RANKS);
	cr_expect_gt(summary.operations, 0);
	cr_expect_eq(communicators, 1);
	for (int i = 0; i < RANKS; i++) {
		double whole_s = (double)(rows[i].parts.own_ns + rows[i].parts.wait_ns + rows[i].parts.unseen_ns) / 1e9;

		cr_expect(rows[i].by_messages);
		cr_expect_eq(rows[i].compared, RANKS);
		cr_expect_eq(rows[i].doing, ANALYSIS_DOING_WORKS, "rank %d", i);
		cr_expect_eq(hosts[i][1] - '0', i / 2);
		cr_expect(whole_s > 30 && whole_s < 45, "rank %d: %f s", i, whole_s);
		cr_expect_float_eq(lost_ms[i], (double)rows[i].lost_ns / 1e6, 1 + lost_ms[i] / 100,
				   "the columns hold the same, rank %d", i);
		if (i != SLOW)
			cr_expect_gt(rows[SLOW].lost_ns, 5 * rows[i].lost_ns, "rank %d", i);
	}
	/* A quarter of half a second in each step of the second half, for seven others. */
	cr_expect_float_eq((double)rows[SLOW].lost_ns / 1e9, 20 * 0.2 * 7, 9);
	cr_expect_gt(columns, 30);
}

Test(job_view, shows_who_has_not_come)
{
	play(MANY_HUNG);
	cr_assert_eq(row_count, RANKS);
	cr_assert_eq(flights, 1);
	cr_expect_eq(missing_count, 1);
	cr_expect_eq(missing[0], SLOW);
	for (int i = 0; i < RANKS; i++) {
		cr_expect_eq(rows[i].doing, i == SLOW ? ANALYSIS_DOING_MISSING : ANALYSIS_DOING_WAITS, "rank %d", i);
		cr_expect_str_neq(operations[i], "");
		cr_expect_gt(rows[i].since_ns, 0);
	}
	cr_expect_gt(deadline.since_ns, 0);
}

Test(job_view, shows_who_is_dead)
{
	play(MANY_KILLED);
	cr_expect_eq(rows[SLOW].doing, ANALYSIS_DOING_GONE);
	cr_expect_eq(rows[SLOW].life, ANALYSIS_KILLED);
	cr_expect_eq(rows[0].doing, ANALYSIS_DOING_WAITS);
}

Test(job_view, of_a_host_that_is_silent_nothing_is_known)
{
	play(MANY_HOST_LOST);
	cr_expect_eq(rows[2].doing, ANALYSIS_DOING_UNKNOWN);
	cr_expect_eq(rows[SLOW].doing, ANALYSIS_DOING_UNKNOWN);
	cr_expect_eq(rows[0].doing, ANALYSIS_DOING_WAITS);
	cr_expect_lt(rows[2].heard_ns, rows[0].heard_ns);
}

Test(job_view, a_healthy_job_loses_little)
{
	play(MANY_HEALTHY);
	cr_expect_eq(flights, 0);
	cr_expect_eq(deadline.since_ns, 0);
	for (int i = 0; i < RANKS; i++)
		cr_expect_lt((double)rows[i].lost_ns / 1e9, 0.05 * 40 * 7, "rank %d", i);
}

static uint32_t batches;

/* Of the one rank of a host, which is in a communicator of two: that it waits there, or nothing. */
static void hear(struct job_half *half, bool waits, uint64_t now_ms)
{
	struct {
		struct rw_batch header;
		struct rw_message messages[3];
	} batch = { .header = { .magic = RW_BATCH_MAGIC,
				.version = RW_BATCH_VERSION,
				.count = waits ? 3 : 0,
				.number = batches++,
				.host = "a",
				.job = "j",
				.start = 1 } };

	batch.messages[0].type = RW_MESSAGE_RANK;
	batch.messages[0].of_rank.pid = 7;
	batch.messages[1].type = RW_MESSAGE_MEMBER;
	batch.messages[1].member = (struct rw_message_member){ .comm = 9, .size = 2, .hosts = 2 };
	batch.messages[2].type = RW_MESSAGE_FLIGHT;
	batch.messages[2].function = RW_FUNCTION_ALL_REDUCE;
	batch.messages[2].flight = (struct rw_message_flight){ .comm = 9,
							       .sequence = 3,
							       .count = 1,
							       .age_ms = 1500,
							       .peer_or_root = -1,
							       .phase = RW_PHASE_RUNNING,
							       .flags = RW_MESSAGE_ARRIVED | RW_MESSAGE_HOLDS };
	cr_assert_eq(job_half_take(half, &batch, sizeof(batch.header) + batch.header.count * sizeof(*batch.messages),
				   now_ms * 1000000, NULL),
		     0);
}

static bool shows_that_it_waits(struct job_half *half, uint64_t now_ms)
{
	struct job_view view;

	row_count = 0;
	job_half_tick(half, now_ms * 1000000);
	job_half_look(half, &view);
	job_view_ranks(&view, keep_row, NULL);
	cr_assert_eq(row_count, 1);
	cr_expect(rows[0].doing == ANALYSIS_DOING_WAITS || rows[0].doing == ANALYSIS_DOING_WORKS, "%d", rows[0].doing);
	return rows[0].doing == ANALYSIS_DOING_WAITS;
}

static void emit_nothing(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

/* What is in flight is told once a second. What is not told again is over, unless the batch was lost that would have
 * told it: nothing else has come then, either. */
Test(job_view, one_lost_batch_does_not_make_a_rank_work_that_waits)
{
	static const struct {
		uint64_t other_ms, at_ms; /* when the host sends another batch, which does not tell of it; and when somebody looks */
		bool waits;
	} cases[] = {
		{ 0, 11200, true },	{ 0, 11400, true },	{ 0, 12200, true },	{ 0, 12400, false },
		{ 11000, 11200, true }, { 11000, 11400, false }, { 10300, 11400, true }, { 10300, 12400, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct job_half *half = job_half_new("j", emit_nothing, NULL);

		job_half_keep_course(half);
		batches = 0;
		hear(half, true, 10000);
		if (cases[i].other_ms)
			hear(half, false, cases[i].other_ms);
		cr_expect_eq(shows_that_it_waits(half, cases[i].at_ms), cases[i].waits, "case %zu", i);
		hear(half, true, 12500);
		cr_expect(shows_that_it_waits(half, 12500), "case %zu: it is told again", i);
		job_half_free(half);
	}
}
