/* SPDX-License-Identifier: MIT */
/*
 * Where each rank had its newest bad value of the story that goes on, and whether it has been clean there since: when
 * all are, what is bad afterwards was made anew.
 */
#ifndef ANALYSIS_MEASURE_LAST_BAD_H
#define ANALYSIS_MEASURE_LAST_BAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/usual.h"

#define LAST_BAD_STEPS 2 /* without a place in the step: clean at any place so many steps later */

/* Of one rank. */
struct last_bad_value {
	uint64_t ticket; /* of its newest bad value; 0 none */
	uint64_t step;   /* of its process then */
	struct usual_spot spot;
	bool has_spot, clean;
	enum value_side side;
};

struct last_bad {
	struct last_bad_value *of;     /* by rank */
	uint32_t room, count; /* count: of those that are not clean yet */
};

/* A scan of the member's saw something bad, or nothing; in any order. Without memory for it, it is not known. */
void last_bad_note(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side);
void last_bad_clean(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side);
/* The story is over: what was bad before is not news any more. */
void last_bad_end(struct analysis *analysis);
void last_bad_free(struct last_bad *last_bad);

#endif
