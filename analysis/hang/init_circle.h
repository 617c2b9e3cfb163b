/* SPDX-License-Identifier: MIT */
/*
 * Finds circles of ranks that wait for each other in the inits of different communicators: each has come to one of
 * them, where the next one is missing. docs/analysis.md, "Init".
 */
#ifndef ANALYSIS_HANG_INIT_CIRCLE_H
#define ANALYSIS_HANG_INIT_CIRCLE_H

#include "analysis/hang/circle_walk.h"
#include "analysis/hang/gatherings.h"

/* A rank in the gathering to which it has come, and where the rank of the next link is missing, or the first one's in
 * the last. */
struct init_circle_link {
	int32_t rank;
	const struct gathering *gathering;
};

struct init_circle {
	struct init_circle_link links[CIRCLE_RANKS_MAX];
	uint32_t count;
	uint64_t since_ns; /* when the last of all who wait there had come */
};

/* Finds the first one, which is valid as long as the gatherings are. False: there is none, or no memory. */
bool init_circle_find(const struct gatherings *gatherings, struct init_circle *circle);

#endif
