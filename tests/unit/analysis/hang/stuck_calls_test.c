/* SPDX-License-Identifier: MIT */
/* Calls in which nobody can be told to be missing: analysis/hang/stuck_calls.h. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"

enum { RANKS = 3 };

struct told {
	int opened, closed;
	size_t named, waiting;
	enum rw_kind kind;
	enum rw_confidence confidence;
	char text[256];
};

static struct told told;

static void note(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	told.opened += finding->state == RW_FINDING_OPEN;
	told.closed += finding->state == RW_FINDING_CLOSED;
	told.named = finding->rank_count;
	told.waiting = finding->late.waiting_count;
	told.kind = finding->kind;
	told.confidence = finding->confidence;
	snprintf(told.text, sizeof(told.text), "%s", finding->text);
}

static uint64_t seconds(double value)
{
	return (uint64_t)(value * 1e9);
}

/* world: the size that the launcher says. */
static struct analysis *begin(int world)
{
	struct analysis *analysis = analysis_new(false, note, NULL);

	told = (struct told){ 0 };
	for (int rank = 0; rank < RANKS; rank++) {
		struct rw_box_header box = { .world_rank = rank, .world_size = world, .host = "a", .job = "test" };
		struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 100 + rank, .box = &box };
		cr_assert_eq(analysis_add_process(analysis, &process), 0);
	}
	return analysis;
}

static void enter(struct analysis *analysis, int rank, uint64_t id, enum rw_init_call call, int nranks)
{
	const struct rw_init init = { .since_ns = seconds(1), .id = id, .nranks = nranks, .rank = rank, .call = call };

	cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &init), 0);
}

static void pass_time(struct analysis *analysis, double from_s, double to_s)
{
	for (double at = from_s; at <= to_s; at++)
		analysis_tick(analysis, seconds(at));
}

static void expect_told(const char *call, size_t waiting)
{
	cr_expect_eq(told.opened, 1);
	cr_expect_eq(told.kind, RW_KIND_HANG);
	cr_expect_eq(told.confidence, RW_INCONCLUSIVE);
	cr_expect_eq(told.named, 0, "nobody is to blame");
	cr_expect_eq(told.waiting, waiting);
	cr_expect(strstr(told.text, call), "%s", told.text);
}

Test(stuck_calls, a_destroy_that_does_not_end_is_told_and_nobody_is_named)
{
	struct analysis *analysis = begin(RANKS);

	enter(analysis, 0, 7, RW_INIT_CALL_DESTROY, RANKS);
	enter(analysis, 2, 7, RW_INIT_CALL_DESTROY, RANKS);
	pass_time(analysis, 1, 30);
	cr_expect_eq(told.opened, 0);
	pass_time(analysis, 31, 35);
	expect_told("in ncclCommDestroy", 2);
	for (int rank = 0; rank < RANKS; rank++)
		cr_assert_eq(analysis_set_init(analysis, (analysis_process_id)rank + 1, &(struct rw_init){ 0 }), 0);
	pass_time(analysis, 36, 40);
	cr_expect_eq(told.closed, 1);
	analysis_free(analysis);
}

/* The others do not wait for whom they know not. */
Test(stuck_calls, a_rank_that_is_in_destroy_waits_for_no_init)
{
	int32_t missing[RANKS];
	struct analysis *analysis = begin(RANKS);

	enter(analysis, 0, 7, RW_INIT_CALL_DESTROY, RANKS);
	analysis_tick(analysis, seconds(20));
	cr_expect_eq(analysis_absentees(analysis, missing, RANKS), 0);
	analysis_free(analysis);
}

Test(stuck_calls, a_communicator_that_grows_by_ranks_that_nobody_knows)
{
	struct analysis *analysis = begin(RANKS);

	for (int rank = 0; rank < RANKS; rank++)
		enter(analysis, rank, 7, RW_INIT_CALL_GROW, RANKS + 2);
	pass_time(analysis, 1, 35);
	expect_told("in ncclCommGrow", 3);
	analysis_free(analysis);
}

/* All are there: it may be a GPU that is at work, or a communicator whose ranks are on other hosts. */
Test(stuck_calls, a_suspend_or_resume_in_which_nobody_is_known_to_be_missing)
{
	static const struct {
		enum rw_init_call call;
		const char *name;
	} calls[] = { { RW_INIT_CALL_SUSPEND, "in ncclCommSuspend" }, { RW_INIT_CALL_RESUME, "in ncclCommResume" } };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct analysis *analysis = begin(RANKS);

		for (int rank = 0; rank < RANKS; rank++)
			enter(analysis, rank, 7, calls[i].call, RANKS);
		pass_time(analysis, 1, 30);
		cr_expect_eq(told.opened, 0);
		pass_time(analysis, 31, 35);
		expect_told(calls[i].name, RANKS);
		analysis_free(analysis);
	}
}

Test(stuck_calls, where_it_grows_to_the_whole_world_the_rank_that_does_not_join_is_missing)
{
	int32_t missing[RANKS];
	struct analysis *analysis = begin(RANKS);

	enter(analysis, 0, 7, RW_INIT_CALL_GROW, RANKS);
	enter(analysis, 1, 7, RW_INIT_CALL_GROW, RANKS);
	analysis_tick(analysis, seconds(2));
	cr_assert_eq(analysis_absentees(analysis, missing, RANKS), 1);
	cr_expect_eq(missing[0], 2);
	pass_time(analysis, 3, 35);
	cr_expect_eq(told.opened, 0, "it is told as one who is missing, once its process was looked at");
	analysis_free(analysis);
}

Test(stuck_calls, who_joins_is_not_missed_where_the_others_grow)
{
	int32_t missing[RANKS];
	struct analysis *analysis = begin(RANKS);

	enter(analysis, 0, 7, RW_INIT_CALL_GROW, RANKS);
	enter(analysis, 1, 7, RW_INIT_CALL_GROW, RANKS);
	enter(analysis, 2, 8, RW_INIT_CALL_JOIN, RANKS);
	pass_time(analysis, 1, 25);
	cr_expect_eq(analysis_absentees(analysis, missing, RANKS), 0);
	cr_expect_eq(told.opened, 0, "no circle");
	pass_time(analysis, 26, 35);
	analysis_free(analysis);
}
