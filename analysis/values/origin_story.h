/* SPDX-License-Identifier: MIT */
/* What can be seen of how bad values came: the first of every rank, where they begin, and who may have brought them. */
#ifndef ANALYSIS_VALUES_ORIGIN_STORY_H
#define ANALYSIS_VALUES_ORIGIN_STORY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/measure/upstream.h"

struct origin_story {
	uint32_t ranks;
	struct first_bad *firsts;     /* by rank */
	struct first_bad *beginnings; /* those that nothing bad explains, and that come after no other one */
	const struct first_bad *main; /* the one to tell of */
	struct upstream upstream;
};

/* False: nothing bad is left to be seen, or no memory. origin_story_free() either way. */
bool origin_story_read(struct analysis *analysis, struct origin_story *story);
void origin_story_free(struct origin_story *story);
/* The reduction made it of finite inputs, or it was damaged on the way. */
bool origin_story_is_made_inside(const struct analysis *analysis, const struct origin_story *story);
/* Whether each beginning is a result of which only ranks that are not seen can have brought the bad input. */
bool origin_story_came_from_unseen(const struct analysis *analysis, const struct origin_story *story);
/* How many beginnings are inputs, how many results; *last_input: a rank of the former, else as before. */
void origin_story_count(const struct origin_story *story, uint32_t *inputs, uint32_t *results, uint32_t *last_input);

#endif
