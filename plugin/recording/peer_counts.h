/* SPDX-License-Identifier: MIT */
/*
 * How many sends and receives a communicator has had with each peer: the sequence numbers of p2p operations. The memory
 * is never unmapped: a communicator can be aborted on one thread while another is about to count, and that thread's
 * late count must land in memory that is there. A later communicator uses it again.
 */
#ifndef PLUGIN_RECORDING_PEER_COUNTS_H
#define PLUGIN_RECORDING_PEER_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

enum peer_direction { PEER_SENDS, PEER_RECEIVES, PEER_CAPTURED_SENDS, PEER_CAPTURED_RECEIVES, PEER_DIRECTIONS };

struct peer_counts {
	struct peer_counts *next; /* of those that no communicator uses */
	uint64_t given_ns;        /* when it became one of them */
	int32_t room;             /* peers that there is memory for */
	_Atomic int32_t peers;    /* of the communicator that uses it */
	_Atomic uint32_t counts[];
};

/* Zeroed, for ranks 0 … peers − 1. NULL: no memory. polled_ns: memory that was given before this time is used by no
 * late thread any more. Both: callers take turns; not on the path of a collective. Never faults later. */
struct peer_counts *peer_counts_take(int32_t peers, uint64_t polled_ns);
void peer_counts_give(struct peer_counts *counts, uint64_t now_ns);

/* The count before this one; UINT64_MAX: no memory, or no such peer. Wait-free, any thread. */
static inline uint64_t peer_counts_next(struct peer_counts *counts, enum peer_direction direction, int32_t peer)
{
	/* Once: in memory that another communicator has taken over meanwhile, both values keep within the room. */
	int32_t peers = counts ? atomic_load_explicit(&counts->peers, memory_order_relaxed) : 0;

	if (peer < 0 || peer >= peers)
		return UINT64_MAX;
	return atomic_fetch_add_explicit(&counts->counts[(uint32_t)direction * (uint32_t)peers + (uint32_t)peer], 1,
					 memory_order_relaxed);
}

#endif
