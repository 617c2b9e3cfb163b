/* SPDX-License-Identifier: MIT */
/*
 * What came before what, without clocks: operations of one rank by their order, operations of different ranks by their
 * instances. An operation can only be fed by those that its process enqueued before it, whatever streams they are on.
 */
#ifndef ANALYSIS_UPSTREAM_H
#define ANALYSIS_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/values.h"

/* The first bad value of a rank. */
struct first_bad {
	struct instance *instance; /* NULL: none */
	uint64_t ticket;
	uint32_t member;
	enum value_side side;
	bool clean_before; /* everything before it is known, or a clean value was seen */
};

/* Who else may have made what came to the beginnings that were searched from. */
struct upstream {
	bool *suspects;       /* by rank: has an input on the way that was not scanned */
	uint32_t count;       /* of them */
	uint32_t not_scanned; /* instances on the way */
	bool blind;           /* a way leads to where nothing is seen: other ranks, untracked or captured operations */
	bool discounted; /* what all ranks received alike was left out where another of them was clean afterwards */
};

/* Ticket of the newest operation; 0 none. */
uint64_t upstream_newest(const struct process *process);
/* Is it bad, and neither padding nor a mask? */
bool upstream_is_bad(const struct analysis *analysis, const struct instance *instance, uint32_t member,
		     enum value_side side);
/* By rank; calloc'ed by the caller. */
void upstream_find_first(const struct analysis *analysis, struct first_bad *firsts);
/* Clears those that come after another one of `beginnings` (by rank), by any way. 0 or -ENOMEM. */
int upstream_drop_later(struct analysis *analysis, struct first_bad *beginnings);
/* Looks for unscanned ways to the beginnings. 0 or -ENOMEM; upstream_free() either way. */
int upstream_search(struct analysis *analysis, const struct first_bad *beginnings, struct upstream *upstream);
void upstream_free(struct upstream *upstream);

#endif
