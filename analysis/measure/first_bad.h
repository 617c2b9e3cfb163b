/* SPDX-License-Identifier: MIT */
/* The first bad value of every rank, in the order in which its process enqueued. */
#ifndef ANALYSIS_MEASURE_FIRST_BAD_H
#define ANALYSIS_MEASURE_FIRST_BAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/values.h"

/* The first bad value of a rank. */
struct first_bad {
	struct instance *instance; /* NULL: none */
	uint64_t ticket;
	uint32_t member;
	enum value_side side;
	bool clean_before; /* everything before it is known, or a clean value was seen */
	bool unordered;    /* a replay, and another bad value of the rank may have come before it */
};

/* Is it bad, and neither padding nor a mask? */
bool first_bad_can_be(const struct analysis *analysis, const struct instance *instance, uint32_t member,
		      enum value_side side);
/* By rank; calloc'ed by the caller. */
void first_bad_find(const struct analysis *analysis, struct first_bad *firsts);

#endif
