/* SPDX-License-Identifier: MIT */
/*
 * Finds circles of ranks of several hosts that wait for each other, each in another operation, as
 * analysis/hang/circle.h does for the ranks of one host. docs/messages.md, "When nothing moves".
 */
#ifndef ANALYSIS_JOB_CIRCLES_H
#define ANALYSIS_JOB_CIRCLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/hang/circle_walk.h"
#include "analysis/job/stand.h"
#include "analysis/report/record.h"

/* A rank, and the operation in which it waits for the rank of the next link, or the last one for that of the first. */
struct circles_link {
	uint32_t rank; /* world rank */
	const struct world_comm *comm;
	const struct world_flight *flight;
};

struct circles_found {
	struct circles_link links[CIRCLE_RANKS_MAX]; /* the lowest rank first */
	uint32_t count;
	uint64_t since_ns; /* the last of them has waited since then, on the reader's clock */
};

/* Finds a circle over more than one host: each of its ranks lives, waits in an operation that its host has recently
 * reported, and its GPU has begun and ended nothing since. stands: by world rank, whether it waits anywhere. False:
 * there is none, or no memory. The circle is valid as long as no message is taken. */
bool circles_find(const struct world *world, const bool *stands, uint64_t now_ns, struct circles_found *circle);
/* Makes the finding, which the caller owns. NULL on lack of memory. */
struct record *circles_record(const struct world *world, const struct circles_found *circle, uint64_t now_ns);

#endif
