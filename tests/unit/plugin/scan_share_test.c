/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/cost/scan_share.h"

#define SECOND UINT64_C(1000000000)

enum { RING = 4096 };

/* One second of `wanted` results, one in `every` of which is made, and `others` claims. Returns how many got a slot. */
static uint64_t second(struct scan_share *share, uint64_t *claims, uint64_t number, uint64_t wanted, uint64_t others)
{
	uint64_t got = 0;

	for (uint64_t i = 0; i < wanted / share->every; i++)
		got += scan_share_take(share);
	*claims += got + others;
	scan_share_judge(share, number * SECOND, *claims);
	return got;
}

Test(scan_share, what_fits_is_taken_whole)
{
	struct scan_share share;
	uint64_t claims = 0;

	scan_share_open(&share, RING, 0);
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(second(&share, &claims, i, SCAN_SHARE_PER_SECOND, 0), SCAN_SHARE_PER_SECOND);
	cr_assert_eq(share.every, 1);
}

Test(scan_share, replays_take_a_quarter_of_a_busy_box_and_make_fewer_until_that_is_enough)
{
	struct scan_share share;
	uint64_t claims = 0, got = 0;

	scan_share_open(&share, RING, 0);
	for (uint64_t i = 1; i <= 60; i++)
		got += second(&share, &claims, i, 100000, 3000);
	cr_assert(got <= RING / 4 + 60 * (1000 + SCAN_SHARE_PER_SECOND), "%lu", got);
	cr_assert(share.every >= 64, "%u", share.every);
	cr_assert(second(&share, &claims, 61, 100000, 3000) == 100000 / share.every);
}

Test(scan_share, more_are_made_again_when_there_is_room)
{
	struct scan_share share;
	uint64_t claims = 0;

	scan_share_open(&share, RING, 0);
	for (uint64_t i = 1; i <= 20; i++)
		second(&share, &claims, i, 100000, 0);
	cr_assert(share.every > 1);
	for (uint64_t i = 21; i <= 220; i++)
		second(&share, &claims, i, 1, 0);
	cr_assert_eq(share.every, 1);
}

enum { MS = 1000000 };

static uint64_t take_all(struct scan_share *share)
{
	uint64_t got = 0;

	while (scan_share_take(share))
		got++;
	return got;
}

Test(scan_share, a_quarter_of_the_ring_is_there_in_advance)
{
	struct scan_share share;

	scan_share_open(&share, RING, SECOND);
	cr_expect_eq(share.every, 1);
	cr_expect_eq(take_all(&share), RING / 4);
	cr_expect_eq(share.wanted, RING / 4 + 1);
}

Test(scan_share, one_slot_comes_in_each_fiftieth_of_a_second_and_none_is_lost_between)
{
	struct scan_share share;
	uint64_t claims = RING / 4;

	scan_share_open(&share, RING, 0);
	take_all(&share);
	scan_share_judge(&share, 19 * MS, claims);
	cr_expect_eq(take_all(&share), 0);
	scan_share_judge(&share, 20 * MS, claims);
	cr_expect_eq(take_all(&share), 1, "counted from the last one that came");
	scan_share_judge(&share, 100 * MS, claims + 1);
	cr_expect_eq(take_all(&share), 4);
}

Test(scan_share, one_slot_comes_with_three_of_others)
{
	struct scan_share share;
	uint64_t own = RING / 4;

	scan_share_open(&share, RING, 0);
	take_all(&share);
	scan_share_judge(&share, 1, own + 2);
	cr_expect_eq(take_all(&share), 0);
	scan_share_judge(&share, 2, own + 3);
	cr_expect_eq(take_all(&share), 1, "our own claims bring nothing");
	own++;
	scan_share_judge(&share, 3, own + 3 + 30);
	cr_expect_eq(take_all(&share), 10);
}

Test(scan_share, no_more_than_the_advance_is_saved_up)
{
	struct scan_share share;

	scan_share_open(&share, RING, 0);
	scan_share_judge(&share, 1000 * SECOND, 1000000);
	cr_expect_eq(take_all(&share), RING / 4);
}

/* A second in which so many were wanted and one of them, or none, was turned away. */
static uint32_t judge_second(struct scan_share *share, uint64_t *now_ns, uint64_t left, uint64_t wanted)
{
	share->left = left;
	for (uint64_t i = 0; i < wanted; i++)
		scan_share_take(share);
	share->taken = 0; /* of others' claims nothing comes in */
	return scan_share_judge(share, *now_ns += SECOND, share->claims);
}

Test(scan_share, fewer_are_made_when_there_is_little_room_and_more_are_wanted_than_come_in)
{
	struct scan_share share;
	uint64_t now_ns = 0, room = RING / 4;

	scan_share_open(&share, RING, 0);
	cr_expect_eq(judge_second(&share, &now_ns, room, 400), 1, "room for more than half");
	cr_expect_eq(judge_second(&share, &now_ns, room / 2 + 51 - SCAN_SHARE_PER_SECOND, 51), 1, "half is left");
	cr_expect_eq(judge_second(&share, &now_ns, room / 2 + 51 - SCAN_SHARE_PER_SECOND - 1, 51), 2, "less than half");
	cr_expect_eq(judge_second(&share, &now_ns, 100, 50), 2, "as many as come in");
	cr_expect_eq(judge_second(&share, &now_ns, 100, 100), 4);
	cr_expect_eq(judge_second(&share, &now_ns, 300, 201), 16, "halved until they are as few as come in");
	cr_expect_eq(judge_second(&share, &now_ns, 10, 51), 32, "turned away");
	share.every = SCAN_SHARE_EVERY_MAX;
	cr_expect_eq(judge_second(&share, &now_ns, 10, 51), SCAN_SHARE_EVERY_MAX);
}

Test(scan_share, five_calm_seconds_in_a_row_bring_back_one_step)
{
	struct scan_share share;
	uint64_t now_ns = 0, room = RING / 4;

	scan_share_open(&share, RING, 0);
	share.every = 4;
	for (int i = 0; i < 10; i++)
		cr_expect_eq(judge_second(&share, &now_ns, room, 13), 4, "13 of 50 are more than a quarter");
	for (int i = 0; i < 4; i++)
		cr_expect_eq(judge_second(&share, &now_ns, room, 12), 4);
	cr_expect_eq(judge_second(&share, &now_ns, room, 13), 4);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(judge_second(&share, &now_ns, room, 12), 4);
	cr_expect_eq(judge_second(&share, &now_ns, room, 12), 2);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(judge_second(&share, &now_ns, room, 12), 2);
	cr_expect_eq(judge_second(&share, &now_ns, room, 12), 1);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(judge_second(&share, &now_ns, room, 0), 1);
}

Test(scan_share, within_a_second_nothing_is_decided)
{
	struct scan_share share;

	scan_share_open(&share, RING, 0);
	for (int i = 0; i < 2 * RING; i++)
		scan_share_take(&share);
	cr_expect_eq(scan_share_judge(&share, SECOND - 1, RING / 4), 1);
	cr_expect_gt(scan_share_judge(&share, SECOND, RING / 4), 1);
}
