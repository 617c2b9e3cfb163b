/* SPDX-License-Identifier: MIT */
/*
 * Ranks that wait for each other: one stands in an operation for a rank that stands in another one, mostly on another communicator,
 * for the next, and the last for the first. None of them can come, and none is to blame alone. docs/analysis.md, "Hang and gone".
 */
#ifndef ANALYSIS_CIRCLE_H
#define ANALYSIS_CIRCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/waiting.h"

enum {
	CIRCLE_RANKS_MAX = 64, /* a longer one is not looked for */
};

struct circle_link {
	uint32_t rank;                   /* waits … */
	const struct standing *standing; /* … here for the rank of the next link, or the last one for that of the first */
};

struct circle {
	struct circle_link links[CIRCLE_RANKS_MAX]; /* the lowest rank first */
	uint32_t count;
	uint64_t since_ns; /* the last of them has waited since then */
};

struct analysis;

/* One that nobody outside of it can open: each of its ranks lives and waits nowhere but for others. False: there is none, or no
 * memory. Good for as long as `waiting` is. */
bool circle_find(const struct waiting *waiting, const struct job *job, struct circle *circle);
/* Opens, updates and closes the finding. is_blamed: others wait for a rank that waits for nobody, so there is no circle to tell.
 * True while a circle is told. */
bool circle_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns);

#endif
