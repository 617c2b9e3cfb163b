/* SPDX-License-Identifier: MIT */
/*
 * Finds circles of ranks that wait for each other. One rank waits in an operation for a second one, which waits in
 * another operation, mostly on another communicator, for the next, and so on; the last waits for the first. None of
 * them can arrive, and none is the only one at fault. docs/analysis.md, "Hang and gone".
 */
#ifndef ANALYSIS_HANG_CIRCLE_H
#define ANALYSIS_HANG_CIRCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/hang/circle_walk.h"
#include "analysis/measure/waiting.h"

struct circle_link {
	uint32_t rank;                   /* waits … */
	const struct standing *standing; /* … here for the rank of the next link, or the last one for that of the
					  * first */
};

struct circle {
	struct circle_link links[CIRCLE_RANKS_MAX]; /* the lowest rank first */
	uint32_t count;
	uint64_t since_ns; /* the last of them has waited since then */
};

struct analysis;

/* Finds a circle that no rank outside of it can open: each of its ranks lives and does nothing but wait for others.
 * False: there is none, or no memory. The circle is valid as long as `waiting`. */
bool circle_find(const struct waiting *waiting, const struct job *job, struct circle *circle);
/* Opens, updates and closes the finding. is_blamed: others wait for a rank that does not wait itself, so no circle is
 * reported. True while a circle is reported. */
bool circle_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns);

#endif
