/* SPDX-License-Identifier: MIT */
/*
 * What came before what, without clocks: operations of one rank by their order, operations of different ranks by their
 * instances. An operation can only be fed by those that its process enqueued before it, whatever streams they are on.
 */
#ifndef ANALYSIS_MEASURE_UPSTREAM_H
#define ANALYSIS_MEASURE_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/measure/first_bad.h"

/* Who else may have made what came to the beginnings that were searched from. */
struct upstream {
	bool *suspects;       /* by rank: has an input on the way that was not scanned */
	uint32_t count;       /* of them */
	uint32_t not_scanned; /* instances on the way */
	bool blind;           /* a way leads to where nothing is seen: other ranks, untracked or captured operations */
	/* A result that was not scanned was left out: all ranks received it alike, and another of them was clean
	 * afterwards; or the rank brought clean values at the same place in a step since then. Not said where both are
	 * so. */
	bool discounted;
};

/* Clears those that come after another one of `beginnings` (by rank), by any way. 0 or -ENOMEM. */
int upstream_drop_later(struct analysis *analysis, struct first_bad *beginnings);
/* Looks for unscanned ways to the beginnings. 0 or -ENOMEM; upstream_free() either way. */
int upstream_search(struct analysis *analysis, const struct first_bad *beginnings, struct upstream *upstream);
void upstream_free(struct upstream *upstream);

#endif
