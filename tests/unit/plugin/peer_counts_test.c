/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/recording/peer_counts.h"

enum { PEERS = 100000 /* their counts do not fit beside anything else */, FEW = 8 };

Test(peer_counts, a_count_that_comes_after_the_end_of_the_communicator_finds_memory)
{
	struct peer_counts *counts = peer_counts_take(PEERS, 0);

	cr_assert(counts);
	cr_expect_eq(peer_counts_next(counts, PEER_SENDS, PEERS - 1), 0);
	peer_counts_give(counts, 10);
	cr_expect_eq(peer_counts_next(counts, PEER_SENDS, PEERS - 1), 1, "of a thread that was about to count");
}

Test(peer_counts, are_used_again_once_no_late_thread_can_have_them_and_begin_at_0)
{
	struct peer_counts *first = peer_counts_take(PEERS, 0);

	peer_counts_next(first, PEER_RECEIVES, 1);
	peer_counts_give(first, 10);
	struct peer_counts *meanwhile = peer_counts_take(FEW, 10);
	cr_expect_neq(meanwhile, first, "nobody has looked since");
	struct peer_counts *second = peer_counts_take(FEW, 11);
	cr_expect_eq(second, first);
	cr_expect_eq(peer_counts_next(second, PEER_RECEIVES, 1), 0);
	cr_expect_eq(peer_counts_next(second, PEER_RECEIVES, FEW), UINT64_MAX, "a peer that this communicator has not");
	cr_expect_eq(peer_counts_next(NULL, PEER_RECEIVES, 0), UINT64_MAX);
}

/* Of two that have room the smaller one: the other may be what the next, larger communicator needs. */
Test(peer_counts, are_used_again_by_as_many_peers_and_no_more)
{
	struct peer_counts *large = peer_counts_take(4 * FEW, 0), *small = peer_counts_take(FEW, 0);

	peer_counts_give(small, 10);
	peer_counts_give(large, 10);
	cr_expect_eq(peer_counts_take(FEW, 11), small, "as many as it has room for");
	cr_expect_eq(peer_counts_take(FEW + 1, 11), large);
	cr_expect_neq(peer_counts_take(1, 11), small, "it is in use");
}

Test(peer_counts, of_each_direction_and_peer_are_apart)
{
	struct peer_counts *counts = peer_counts_take(FEW, 0);

	for (int direction = 0; direction < PEER_DIRECTIONS; direction++)
		for (int peer = 0; peer < FEW; peer++)
			cr_expect_eq(peer_counts_next(counts, (enum peer_direction)direction, peer), 0);
}
