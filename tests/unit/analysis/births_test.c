/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"

enum { RANKS = 8, LATE = 5 };

struct told {
	int opened, closed, rank;
	enum rw_kind kind;
	enum rw_cause_class class_;
	enum rw_phase phase;
	size_t waiting;
	char text[256];
};

static void note(void *argument, const struct rw_finding *finding)
{
	struct told *told = argument;

	told->opened += finding->state == RW_FINDING_OPEN;
	told->closed += finding->state == RW_FINDING_CLOSED;
	told->rank = finding->ranks[0];
	told->kind = finding->kind;
	told->class_ = finding->cause.class_;
	told->phase = finding->operation.phase;
	told->waiting = finding->late.waiting_count;
	snprintf(told->text, sizeof(told->text), "%s", finding->text);
}

static uint64_t seconds(double value)
{
	return (uint64_t)(value * 1e9);
}

static void add_process(struct analysis *analysis, int rank, int claimed)
{
	struct rw_box_header box = { .world_rank = claimed, .world_size = RANKS, .host = "a", .job = "test" };
	struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 100 + rank, .box = &box };

	cr_assert_eq(analysis_add_process(analysis, &process), 0);
}

static void enter(struct analysis *analysis, int rank, int nranks)
{
	const struct rw_birth birth = { .since_ns = seconds(1), .id = 77, .nranks = nranks, .rank = rank % nranks };

	cr_assert_eq(analysis_set_birth(analysis, (analysis_process_id)rank + 1, &birth), 0);
}

/* All but the late rank wait in the birth of a communicator of `nranks`. */
static struct analysis *open_init(struct told *told, bool post_mortem, int waiting, int nranks)
{
	struct analysis *analysis = analysis_new(post_mortem, note, told);

	for (int rank = 0; rank < waiting; rank++) {
		if (rank == LATE)
			continue;
		add_process(analysis, rank, rank);
		enter(analysis, rank, nranks);
	}
	return analysis;
}

static void pass_time(struct analysis *analysis, enum analysis_absence absence, double from_s, double to_s)
{
	int32_t missing[RANKS];

	for (double at = from_s; at <= to_s; at += 1) {
		if (analysis_absentees(analysis, missing, RANKS) == 1 && missing[0] == LATE)
			analysis_set_absentee(analysis,
					      &(struct analysis_absentee){ .world_rank = LATE, .pid = 105, .absence = absence },
					      seconds(at));
		analysis_tick(analysis, seconds(at));
	}
}

Test(births, the_rank_that_is_missing_is_named_by_what_it_does)
{
	static const struct {
		enum analysis_absence absence;
		int opened;
		enum rw_kind kind;
		enum rw_cause_class class_;
		const char *text;
	} cases[] = {
		{ ANALYSIS_ABSENT_UNKNOWN, 0, 0, 0, "" },
		{ ANALYSIS_ABSENT_BUSY, 0, 0, 0, "" },
		{ ANALYSIS_ABSENT_NONE, 1, RW_KIND_HANG, RW_CAUSE_UNKNOWN, "rank 5 has not come (no process of it was seen on" },
		{ ANALYSIS_ABSENT_ENDED, 1, RW_KIND_GONE, RW_CAUSE_GONE, "rank 5 has no process any more (pid 105 has ended): " },
		{ ANALYSIS_ABSENT_STOPPED, 1, RW_KIND_GONE, RW_CAUSE_STOPPED, "rank 5 was stopped: ranks 0-4,6,7" },
		{ ANALYSIS_ABSENT_IDLE, 1, RW_KIND_HANG, RW_CAUSE_UNKNOWN, "rank 5 has not come: ranks 0-4,6,7" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

		pass_time(analysis, cases[i].absence, 1, 40);
		cr_expect_eq(told.opened, cases[i].opened, "case %zu: %d", i, told.opened);
		cr_expect_eq(strncmp(told.text, cases[i].text, strlen(cases[i].text)), 0, "case %zu: %s", i, told.text);
		if (told.opened) {
			cr_expect_eq(told.rank, LATE);
			cr_expect_eq(told.kind, cases[i].kind);
			cr_expect_eq(told.class_, cases[i].class_);
			cr_expect_eq(told.phase, RW_PHASE_INIT);
			cr_expect_eq(told.waiting, RANKS - 1);
		}
		analysis_free(analysis);
	}
}

Test(births, a_rank_that_comes_in_time_or_gets_on_now_and_then_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	for (int i = 0; i < 5; i++) {
		pass_time(analysis, ANALYSIS_ABSENT_IDLE, 1 + 10 * i, 9 + 10 * i);
		pass_time(analysis, ANALYSIS_ABSENT_BUSY, 10 + 10 * i, 10 + 10 * i);
	}
	add_process(analysis, LATE, LATE);
	enter(analysis, LATE, RANKS);
	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 51, 90);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

Test(births, the_finding_is_closed_when_the_rank_has_come)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 1, 15);
	cr_expect_eq(told.opened, 1);
	add_process(analysis, LATE, LATE);
	enter(analysis, LATE, RANKS);
	pass_time(analysis, ANALYSIS_ABSENT_IDLE, 16, 17);
	cr_expect_eq(told.closed, 1);
	analysis_free(analysis);
}

Test(births, a_rank_that_is_started_late_is_no_finding_before_others_have_waited_long)
{
	struct told told = { 0 };
	struct analysis *analysis = open_init(&told, false, RANKS, RANKS);

	pass_time(analysis, ANALYSIS_ABSENT_NONE, 1, 25);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	pass_time(analysis, ANALYSIS_ABSENT_NONE, 26, 40);
	cr_expect_eq(told.opened, 1);
	pass_time(analysis, ANALYSIS_ABSENT_BUSY, 41, 42);
	cr_expect_eq(told.closed, 1, "its process has come");
	analysis_free(analysis);
}

Test(births, nobody_is_named_where_who_is_missing_is_not_certain)
{
	int32_t missing[RANKS];
	struct told told = { 0 };
	struct analysis *part = open_init(&told, false, RANKS, 4);
	struct analysis *few = open_init(&told, false, 3, RANKS);
	struct analysis *twice = open_init(&told, false, RANKS, RANKS);

	cr_expect_eq(analysis_absentees(part, missing, RANKS), 0, "not of the whole world");
	cr_expect_eq(analysis_absentees(few, missing, RANKS), 0, "those who wait are early");
	add_process(twice, LATE, 3);
	enter(twice, LATE, RANKS);
	cr_expect_eq(analysis_absentees(twice, missing, RANKS), 0, "two processes claim rank 3");
	analysis_free(part);
	analysis_free(few);
	analysis_free(twice);
}

enum { BIRTH = 77, OTHER_BIRTH = 78 };

/* All wait from 1 s on; the late rank has a black box, too, and ends at 3 s in the birth of that id. */
static struct analysis *open_death(struct told *told, bool post_mortem, uint64_t id, bool has_heartbeat)
{
	struct analysis *analysis = open_init(told, post_mortem, RANKS, RANKS);
	const struct rw_birth birth = { .since_ns = seconds(1), .id = id, .nranks = RANKS, .rank = LATE };

	add_process(analysis, LATE, LATE);
	cr_assert_eq(analysis_set_birth(analysis, LATE + 1, &birth), 0);
	if (has_heartbeat)
		cr_assert_eq(analysis_set_heartbeat(analysis, LATE + 1, seconds(3)), 0);
	cr_assert_eq(analysis_set_life(analysis, LATE + 1, ANALYSIS_KILLED, -1, seconds(3)), 0);
	return analysis;
}

Test(births, one_that_ended_in_it_is_named_from_its_black_box_alone)
{
	static const struct {
		bool post_mortem, has_heartbeat;
	} cases[] = { { false, false }, { true, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct told told = { 0 };
		struct analysis *analysis = open_death(&told, cases[i].post_mortem, BIRTH, cases[i].has_heartbeat);

		pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 12);
		cr_expect_eq(told.opened, 0, "%s", told.text);
		pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 13, 14);
		cr_expect_eq(told.opened, 1);
		cr_expect_eq(told.rank, LATE);
		cr_expect_eq(told.kind, RW_KIND_GONE);
		cr_expect_eq(told.phase, RW_PHASE_INIT);
		cr_expect_eq(told.waiting, RANKS - 1);
		cr_expect_eq(strncmp(told.text, "rank 5 has no process any more (pid 105 has ended): ranks 0-4,6,7", 64), 0,
			     "%s", told.text);
		analysis_free(analysis);
	}
}

/* A whole job that ends within ten seconds after the first of it: whoever was first may not be the reason. */
Test(births, one_that_ended_shortly_before_all_others_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, true, BIRTH, true);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 12);
	for (int rank = 0; rank < RANKS; rank++)
		if (rank != LATE)
			analysis_set_life(analysis, (analysis_process_id)rank + 1, ANALYSIS_KILLED, -1, seconds(12));
	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 13, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

Test(births, one_that_ended_elsewhere_is_not_named)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, false, OTHER_BIRTH, true);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_free(analysis);
}

/* Boxes of processes without a sign of life in a birth: one of them ended before the report was asked for, nobody knows when. */
Test(births, one_whose_end_has_no_time_is_named_only_while_the_others_are_seen_to_live)
{
	struct told told = { 0 };
	struct analysis *analysis = open_death(&told, true, BIRTH, false);

	pass_time(analysis, ANALYSIS_ABSENT_UNKNOWN, 4, 60);
	cr_expect_eq(told.opened, 0, "%s", told.text);
	analysis_tell_births(analysis, seconds(60));
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.rank, LATE);
	analysis_free(analysis);
}
