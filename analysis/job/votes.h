/* SPDX-License-Identifier: MIT */
/* Majority votes on a value that must be equal on all members of a communicator: which value is usual, and which
 * members have another. */
#ifndef ANALYSIS_JOB_VOTES_H
#define ANALYSIS_JOB_VOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"

struct vote {
	uint64_t value;
	uint32_t rank; /* world rank */
};

struct votes {
	struct vote
	    *cast; /* owned by the caller, with room for each member; sorted by value, then rank, by votes_count() */
	uint32_t count, usual_count; /* usual_count: votes with the most frequent value */
	uint64_t usual;              /* that value */
};

/* Sorts the votes, and sets `usual` and `usual_count`. */
void votes_count(struct votes *votes);
/* Whether more than half of all ranks of the communicator have the usual value. Ranks that were never heard of count as
 * ranks, too. */
bool votes_have_majority(const struct votes *votes, const struct world_comm *comm);
/* Fills `odd` with the ranks that have another value than the usual one, and `usual` with the others, both ascending.
 * Without a majority all ranks are odd. Each array has room for all votes. */
void votes_split(const struct votes *votes, bool majority, uint32_t *odd, uint32_t *odd_count, uint32_t *usual,
		 uint32_t *usual_count);

#endif
