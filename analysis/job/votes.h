/* SPDX-License-Identifier: MIT */
/* What members of a communicator say that must be the same on all of them: how most of them have it, and who has it otherwise. */
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
	struct vote *cast;           /* room for each member of the communicator; the caller's. By value, then rank, once counted */
	uint32_t count, usual_count; /* usual_count: of them, those with the most frequent value */
	uint64_t usual;              /* that value */
};

void votes_count(struct votes *votes);
/* Have more than half of all ranks of the communicator, heard of or not, the usual value? */
bool votes_have_majority(const struct votes *votes, const struct world_comm *comm);
/* Ascending: who has another value than the usual one, and who has that; without a majority all are odd. Each with room for all. */
void votes_split(const struct votes *votes, bool majority, uint32_t *odd, uint32_t *odd_count, uint32_t *usual, uint32_t *usual_count);

#endif
