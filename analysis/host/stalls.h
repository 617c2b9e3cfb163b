/* SPDX-License-Identifier: MIT */
/*
 * The stretches of time that a rank's lateness has been charged for. One stall delays several operations and counts
 * once, in whichever order they are judged: an instance is judged when the last box has been read that holds a part of
 * it, so of two on different communicators the later one is often judged first.
 */
#ifndef ANALYSIS_HOST_STALLS_H
#define ANALYSIS_HOST_STALLS_H

#include <stdint.h>

enum { STALLS_KEPT = 16 };

struct stall {
	uint64_t from_ns, until_ns;
};

/* All 0: none. */
struct stalls {
	struct stall latest[STALLS_KEPT]; /* in a ring; until 0: none */
	uint32_t count;                   /* ever */
	uint64_t forgotten_ns; /* of those that are not kept, the end of the last: all before it counts as charged */
};

/* What is left of a lateness of late_ns that ended with this arrival. */
uint64_t stalls_left(const struct stalls *stalls, uint64_t arrival_ns, uint64_t late_ns);
/* late_ns: what was left. */
void stalls_add(struct stalls *stalls, uint64_t arrival_ns, uint64_t late_ns);

#endif
