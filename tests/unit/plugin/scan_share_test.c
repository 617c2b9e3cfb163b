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
