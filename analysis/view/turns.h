/* SPDX-License-Identifier: MIT */
/*
 * Waiting that goes round: each rank now and then holds up all others, as where Python collects garbage on each of them
 * in another step. No rank stands out then, and much of the time can be lost. docs/summaries.md, "Where the time went".
 */
#ifndef ANALYSIS_VIEW_TURNS_H
#define ANALYSIS_VIEW_TURNS_H

#include "analysis/analysis.h"

/* Less of the ranks' time than this is what ranks are late by anyway. */
#define TURNS_SHARE_MIN 0.1
/* One rank with a larger share of the waits than this, and than twice its part, holds up the others more than in turn.
 */
#define TURNS_ONE_MAX 0.25
/* Of two ranks, or three, it has half of them at least. */
#define TURNS_FEW_MAX 0.6
enum {
	TURNS_MIN = 8,       /* in all, and … */
	TURNS_RANKS_MIN = 8, /* … of so many ranks, or half of all */
	TURNS_CAUSES = 16,   /* ranks, those for which the others waited most often, whose cause is asked for */
};

/* How often the others waited for one rank, and for how long, all of them together. */
struct turn {
	uint32_t rank, times;
	uint64_t waits_ns;
};

/* Does it go round among `ranks` ranks, of whose time, all_ns together, the turns have a part? Sorts the turns, those
 * of most times first, and fills in all of `told` but of how many steps it is, of which ranks, and why; false:
 * told->times is 0. */
bool turns_go_round(struct turn *turns, uint32_t count, uint32_t ranks, double all_ns, struct analysis_turns *told);
/* Fills in how the waiting goes round, where it does; else told->times is 0. all_ns: the time of all ranks. */
void turns_tell(const struct analysis *analysis, double all_ns, struct analysis_turns *told);

#endif
