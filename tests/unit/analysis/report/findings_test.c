/* SPDX-License-Identifier: MIT */
/* More findings than there is room for. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "analysis/report/findings.h"

enum { LINES = 4 * FINDINGS_MAX };

static struct told {
	struct {
		int rank;
		enum rw_finding_state state;
	} lines[LINES];
	size_t count;
	bool open[2 * FINDINGS_MAX]; /* by rank, as somebody knows it who reads the lines */
} told;

static struct findings findings;
static struct process process;
static struct process *processes[] = { &process };
static struct job job = { .processes = processes, .process_count = 1 };

static void hear(void *argument, const struct rw_finding *finding)
{
	int rank = finding->ranks[0];

	(void)argument;
	cr_assert_lt(told.count, (size_t)LINES);
	told.lines[told.count].rank = rank;
	told.lines[told.count++].state = finding->state;
	cr_expect_neq(finding->state == RW_FINDING_OPEN, told.open[rank], "rank %d", rank);
	told.open[rank] = finding->state != RW_FINDING_CLOSED;
}

static void tell(int rank, enum rw_severity severity)
{
	struct record *record = record_new_absent(&job, RW_KIND_STRAGGLER, rank, "host", 0);

	cr_assert_not_null(record);
	record->subject = (uint32_t)rank;
	record->finding.severity = severity;
	findings_tell(&findings, record, 1000000000);
}

static const struct record *open_of(int rank)
{
	return findings_open(&findings, RW_KIND_STRAGGLER, (uint32_t)rank);
}

/* As many as there is room for, all open; rank 3's is the only notice, but for rank 5's. */
static void setup(void)
{
	memset(&told, 0, sizeof(told));
	findings = (struct findings){ .job = &job, .emit = hear };
	snprintf(process.job, sizeof(process.job), "j");
	for (int rank = 0; rank < FINDINGS_MAX; rank++)
		tell(rank, rank == 3 || rank == 5 ? RW_NOTICE : RW_WARNING);
	cr_assert_eq(told.count, (size_t)FINDINGS_MAX);
}

static void teardown(void)
{
	findings_free(&findings);
}

TestSuite(findings, .init = setup, .fini = teardown);

Test(findings, what_compares_ranks_is_inconclusive_once_the_event_mask_was_changed)
{
	static const struct {
		enum rw_kind kind;
		enum rw_phase phase;
		uint64_t first_seen_ns, mask_ns;
		bool in_doubt;
	} cases[] = {
		{ RW_KIND_HANG, RW_PHASE_RUNNING, 50000000000, 0, false },
		{ RW_KIND_HANG, RW_PHASE_RUNNING, 50000000000, 40000000000, true },
		{ RW_KIND_STRAGGLER, RW_PHASE_RUNNING, 50000000000, 51000000000,
		  true }, /* the look at the mask comes behind its change */
		{ RW_KIND_STRAGGLER, RW_PHASE_RUNNING, 50000000000, 53000000000, false },
		{ RW_KIND_DESYNC, RW_PHASE_ENQUEUED, 50000000000, 40000000000, true },
		{ RW_KIND_HANG, RW_PHASE_INIT, 50000000000, 40000000000, false },
		{ RW_KIND_GONE, RW_PHASE_RUNNING, 50000000000, 40000000000, false },
		{ RW_KIND_NAN, RW_PHASE_NONE, 50000000000, 40000000000, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct record *record = record_new_absent(&job, cases[i].kind, 200, "host", 0);
		const struct rw_finding *finding;

		findings_free(&findings);
		memset(&told, 0, sizeof(told));
		record->finding.severity = RW_CRITICAL;
		record->finding.confidence = RW_CERTAIN;
		record->finding.first_seen_ns = cases[i].first_seen_ns;
		record->finding.operation.present = true;
		record->finding.operation.phase = cases[i].phase;
		for (int k = 0; k < RECORD_MISSING; k++)
			record_add_missing(record, "something else");
		job.masked_ns = cases[i].mask_ns;
		findings_tell(&findings, record, 60000000000);
		job.masked_ns = 0;
		cr_assert_eq(findings.count, 1);
		finding = &findings.records[0]->finding;
		cr_expect_eq(finding->confidence == RW_INCONCLUSIVE, cases[i].in_doubt, "%zu", i);
		cr_expect_eq(finding->severity == RW_NOTICE, cases[i].in_doubt, "%zu", i);
		cr_expect_eq(strstr(finding->missing[RECORD_MISSING - 1], "event mask was changed") != NULL,
			     cases[i].in_doubt, "%zu", i);
	}
}

Test(findings, the_oldest_that_is_closed_makes_room)
{
	findings_close(&findings, RW_KIND_STRAGGLER, 1, 2000000000);
	findings_close(&findings, RW_KIND_STRAGGLER, 2, 2000000000);
	tell(FINDINGS_MAX, RW_NOTICE);
	cr_expect(open_of(FINDINGS_MAX));
	cr_expect(open_of(0));
	cr_expect_null(findings_latest(&findings, RW_KIND_STRAGGLER, 1));
	cr_expect(findings_latest(&findings, RW_KIND_STRAGGLER, 2));
	cr_expect_eq(findings.count, FINDINGS_MAX);
}

Test(findings, where_all_are_open_the_oldest_of_the_least_severe_is_closed_for_a_more_severe_one)
{
	tell(FINDINGS_MAX, RW_WARNING);
	cr_assert_eq(told.count, FINDINGS_MAX + 2u);
	cr_expect_eq(told.lines[FINDINGS_MAX].rank, 3);
	cr_expect_eq(told.lines[FINDINGS_MAX].state, RW_FINDING_CLOSED);
	cr_expect_eq(told.lines[FINDINGS_MAX + 1].rank, FINDINGS_MAX);
	cr_expect_eq(told.lines[FINDINGS_MAX + 1].state, RW_FINDING_OPEN);
	cr_expect_null(open_of(3));
	cr_expect(open_of(5));
	cr_expect_eq(findings.count, FINDINGS_MAX);
}

/* Else they would be opened by turns for as long as they last. */
Test(findings, where_all_are_open_and_as_severe_one_more_is_not_told_until_another_is_closed)
{
	tell(FINDINGS_MAX, RW_WARNING);
	tell(FINDINGS_MAX + 1, RW_WARNING);
	size_t before = told.count;
	for (int again = 0; again < 3; again++) {
		tell(3, RW_NOTICE);
		tell(FINDINGS_MAX + 2, RW_WARNING);
	}
	cr_expect_eq(told.count, before);
	cr_expect_null(open_of(FINDINGS_MAX + 2));
	tell(FINDINGS_MAX + 3, RW_CRITICAL);
	cr_expect_null(open_of(0));
	cr_expect(open_of(FINDINGS_MAX + 3));
	findings_close(&findings, RW_KIND_STRAGGLER, 7, 3000000000);
	tell(FINDINGS_MAX + 2, RW_WARNING);
	cr_expect(open_of(FINDINGS_MAX + 2));
}

/* What is told of one that is open needs no room. */
Test(findings, one_that_is_open_is_still_updated)
{
	size_t before = told.count;

	tell(9, RW_CRITICAL);
	cr_assert_eq(told.count, before + 1);
	cr_expect_eq(told.lines[before].state, RW_FINDING_UPDATE);
	cr_expect_eq(told.lines[before].rank, 9);
	cr_expect_eq(findings.count, FINDINGS_MAX);
}
