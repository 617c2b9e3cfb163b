/* SPDX-License-Identifier: MIT */
#include "plugin/recording/peer_counts.h"

#include <stddef.h>

#include "plugin/guest/memory.h"

static struct peer_counts *spare;

static size_t count_of(int32_t peers)
{
	return (size_t)PEER_DIRECTIONS * (size_t)peers;
}

/* Populated now, so that no first send to a peer faults. */
static struct peer_counts *make(int32_t peers)
{
	size_t size = offsetof(struct peer_counts, counts) + count_of(peers) * sizeof(uint32_t);
	struct peer_counts *counts = memory_populated(size);

	if (counts)
		counts->room = peers;
	return counts;
}

/* The smallest that has room and that no late thread uses. */
static struct peer_counts **find_spare(int32_t peers, uint64_t polled_ns)
{
	struct peer_counts **found = NULL;

	for (struct peer_counts **at = &spare; *at; at = &(*at)->next)
		if ((*at)->room >= peers && (*at)->given_ns < polled_ns && (!found || (*at)->room < (*found)->room))
			found = at;
	return found;
}

static struct peer_counts *use_again(struct peer_counts **at)
{
	struct peer_counts *counts = *at;

	*at = counts->next;
	for (size_t i = 0; i < count_of(counts->room); i++)
		atomic_store_explicit(&counts->counts[i], 0, memory_order_relaxed);
	return counts;
}

struct peer_counts *peer_counts_take(int32_t peers, uint64_t polled_ns)
{
	struct peer_counts **found = find_spare(peers, polled_ns);
	struct peer_counts *counts = found ? use_again(found) : make(peers);

	if (counts)
		atomic_store_explicit(&counts->peers, peers, memory_order_relaxed);
	return counts;
}

void peer_counts_give(struct peer_counts *counts, uint64_t now_ns)
{
	if (!counts)
		return;
	counts->given_ns = now_ns;
	counts->next = spare;
	spare = counts;
}
