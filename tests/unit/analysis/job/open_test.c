/* SPDX-License-Identifier: MIT */
/* Findings that are told again while they are so: opened once, found again, closed when nobody tells them any more. */
#include <criterion/criterion.h>

#include <string.h>

#include "analysis/job/open.h"
#include "analysis/job/place.h"
#include "tests/unit/analysis/jobs/counted_memory.h"

static const uint64_t begin_ns = 1000000000;

static struct heard {
	uint32_t opened, closed;
	int last_closed; /* rank */
} heard;

static struct open open_list;
static struct findings findings;
static struct job job;
static long blocks;

static void hear(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	heard.opened += finding->state == RW_FINDING_OPEN;
	if (finding->state == RW_FINDING_CLOSED) {
		heard.closed++;
		heard.last_closed = finding->ranks[0];
	}
}

static void tell(enum rw_kind kind, uint32_t rank, enum rw_severity severity, uint64_t now_ns)
{
	struct record *record = record_new_absent(&job, kind, (int32_t)rank, "host", 0);

	cr_assert_not_null(record);
	record->subject = rank;
	record->finding.severity = severity;
	open_tell(&open_list, &findings, record, now_ns);
}

static void setup(void)
{
	memset(&heard, 0, sizeof(heard));
	memset(&open_list, 0, sizeof(open_list));
	findings = (struct findings){ .job = &job, .emit = hear };
	blocks = counted_memory.blocks;
}

static void teardown(void)
{
	findings_free(&findings);
	cr_expect_eq(counted_memory.blocks, blocks, "%ld blocks are still held", counted_memory.blocks - blocks);
}

TestSuite(open, .init = setup, .fini = teardown);

Test(open, one_that_is_told_again_is_found_again)
{
	for (uint32_t look = 0; look < 20; look++) {
		uint64_t now_ns = begin_ns + look * 500000000u;
		tell(RW_KIND_HANG, 3, RW_CRITICAL, now_ns);
		open_close_over(&open_list, &findings, now_ns);
	}
	cr_expect_eq(heard.opened, 1);
	cr_expect_eq(heard.closed, 0);
	cr_expect_eq(open_list.count, 1);
}

Test(open, another_kind_or_another_subject_is_another_finding)
{
	tell(RW_KIND_HANG, 3, RW_WARNING, begin_ns);
	tell(RW_KIND_GONE, 3, RW_WARNING, begin_ns);
	tell(RW_KIND_HANG, 4, RW_WARNING, begin_ns);
	cr_expect_eq(heard.opened, 3);
	cr_expect(open_has(&open_list, RW_KIND_HANG, 3));
	cr_expect(open_has(&open_list, RW_KIND_GONE, 3));
	cr_expect(open_has(&open_list, RW_KIND_HANG, 4));
	cr_expect_not(open_has(&open_list, RW_KIND_GONE, 4));
}

Test(open, one_is_closed_when_it_was_not_told_for_as_long_as_a_flight_is_valid)
{
	uint64_t over_ns = begin_ns + JOB_PLACE_FRESH_NS;

	tell(RW_KIND_HANG, 3, RW_WARNING, begin_ns);
	tell(RW_KIND_HANG, 4, RW_WARNING, begin_ns + 1);
	open_close_over(&open_list, &findings, over_ns - 1);
	cr_expect_eq(heard.closed, 0);
	open_close_over(&open_list, &findings, over_ns);
	cr_expect_eq(heard.closed, 1);
	cr_expect_eq(heard.last_closed, 3);
	cr_expect_not(open_has(&open_list, RW_KIND_HANG, 3));
	cr_expect(open_has(&open_list, RW_KIND_HANG, 4));
	cr_expect_null(findings_open(&findings, RW_KIND_HANG, 3));
	cr_expect(findings_open(&findings, RW_KIND_HANG, 4));
	open_close_over(&open_list, &findings, over_ns);
	cr_expect_eq(heard.closed, 1, "it was closed twice");
	tell(RW_KIND_HANG, 3, RW_WARNING, over_ns);
	cr_expect_eq(heard.opened, 3);
}

/* It stays so until it is over: others go on to be its consequence. */
Test(open, one_that_was_told_as_critical_stays_so)
{
	tell(RW_KIND_HANG, 3, RW_WARNING, begin_ns);
	cr_expect_not(open_has_critical(&open_list));
	tell(RW_KIND_HANG, 3, RW_CRITICAL, begin_ns + 1);
	tell(RW_KIND_HANG, 4, RW_NOTICE, begin_ns + 2);
	tell(RW_KIND_HANG, 3, RW_WARNING, begin_ns + 2);
	cr_expect(open_has_critical(&open_list));
	tell(RW_KIND_HANG, 4, RW_NOTICE, begin_ns + JOB_PLACE_FRESH_NS);
	open_close_over(&open_list, &findings, begin_ns + 2 + JOB_PLACE_FRESH_NS);
	cr_expect_not(open_has_critical(&open_list));
	cr_expect(open_has(&open_list, RW_KIND_HANG, 4));
}

/* The memory of one that is not told is not kept, either. */
Test(open, one_more_than_there_is_room_for_is_told_when_another_is_over)
{
	for (uint32_t rank = 0; rank <= OPEN_MAX; rank++)
		tell(RW_KIND_HANG, rank, RW_WARNING, begin_ns + rank);
	cr_expect_eq(heard.opened, OPEN_MAX);
	cr_expect_not(open_has(&open_list, RW_KIND_HANG, OPEN_MAX));
	/* What is open is found again also where there is no room. */
	tell(RW_KIND_HANG, OPEN_MAX - 1, RW_CRITICAL, begin_ns + 1);
	cr_expect(open_has_critical(&open_list));
	open_close_over(&open_list, &findings, begin_ns + JOB_PLACE_FRESH_NS);
	cr_expect_eq(heard.closed, 1);
	tell(RW_KIND_HANG, OPEN_MAX, RW_WARNING, begin_ns + JOB_PLACE_FRESH_NS);
	cr_expect(open_has(&open_list, RW_KIND_HANG, OPEN_MAX));
	cr_expect_eq(heard.opened, OPEN_MAX + 1);
}
