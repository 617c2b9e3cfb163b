/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "finding/board.h"
#include "findings.h"

static void put(struct board *board, struct rw_finding *finding, enum rw_finding_state state)
{
	finding->state = state;
	cr_assert_eq(board_put(board, finding, "{}"), 0);
}

Test(board, values_that_are_bad_again_after_they_were_clean_are_counted_again)
{
	struct board board = { 0 };
	struct rw_finding nan = born_nan();

	put(&board, &nan, RW_FINDING_OPEN);
	put(&board, &nan, RW_FINDING_CLOSED);
	cr_expect_eq(board_count(&board, nan.severity), 1);
	cr_expect_eq(board_closed(&board), 1);
	nan.first_seen_ns += 1000000;
	put(&board, &nan, RW_FINDING_OPEN);
	put(&board, &nan, RW_FINDING_UPDATE);
	cr_expect_eq(board_count(&board, nan.severity), 2);
	cr_expect_eq(board_count_kind(&board, RW_KIND_NAN), 2);
	cr_expect_eq(board_closed(&board), 1, "the first");
	cr_expect_eq(board_open(&board), 1);
	put(&board, &nan, RW_FINDING_CLOSED);
	cr_expect_eq(board_closed(&board), 2);
	cr_expect_eq(board.count, 1, "however often it comes back");
	board_free(&board);
}

Test(board, a_straggler_that_comes_back_is_the_same_finding)
{
	struct board board = { 0 };
	struct rw_finding late = straggler();

	put(&board, &late, RW_FINDING_OPEN);
	put(&board, &late, RW_FINDING_CLOSED);
	late.first_seen_ns += 1000000;
	put(&board, &late, RW_FINDING_OPEN);
	cr_expect_eq(board_count(&board, late.severity), 1);
	cr_expect_eq(board_count_kind(&board, RW_KIND_STRAGGLER), 1);
	cr_expect_eq(board_closed(&board), 0);
	board_free(&board);
}
