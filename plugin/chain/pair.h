/* SPDX-License-Identifier: MIT */
/*
 * Two plugins behind one: NCCL keeps one pointer an event, which stands for a handle of ours and one of the other's. A
 * bounded table by number; a number that was overwritten, or never given out, is recognised. Wait-free, any thread.
 */
#ifndef PLUGIN_CHAIN_PAIR_H
#define PLUGIN_CHAIN_PAIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pair {
	void *ours, *theirs;
	bool passed_on; /* to the other plugin, whatever it answered */
};

struct pair_cell {
	_Atomic uint64_t number; /* 0 = empty or being written; stored last */
	_Atomic(void *) ours;
	_Atomic(void *) theirs;
	_Atomic bool passed_on;
};

struct pairs {
	struct pair_cell *cells;
	uint64_t mask; /* cells - 1 */
};

/* `count`: a power of two. Populated now: nothing faults later. 0 or -errno. Never freed. */
int pairs_make(struct pairs *pairs, uint64_t count);
/* Number 0 is none. What had the cell is forgotten. */
void pairs_put(struct pairs *pairs, uint64_t number, const struct pair *pair);
/* False: not there (any more). */
bool pairs_get(const struct pairs *pairs, uint64_t number, struct pair *pair);

#endif
