/* SPDX-License-Identifier: MIT */
/*
 * Is a member later than healthy ranks may differ for good? Hosts of one job differ by up to SPREAD_USUAL, for as long as it runs. What a
 * member is late by beyond that is no such difference. What is less must stand out from the differences that the others show, and the fewer
 * of them are known, the further. docs/messages.md, "Late".
 */
#ifndef ANALYSIS_JOB_SPREAD_H
#define ANALYSIS_JOB_SPREAD_H

#include "analysis/job/lanes.h"

/* Of the time: one of two hosts that differ by 5 % either way is late by 10 %, and noise adds to that. */
#define SPREAD_USUAL 0.12
/* If differences are spread evenly, the largest of n + 1 is more than f times the next one with a probability of f to
 * the power of -n. This is the probability that is accepted … */
#define SPREAD_CHANCE 0.001
#define SPREAD_BEYOND 2 /* … but f is this at least */
enum {
	SPREAD_PARTS = 4,   /* newest parts (analysis/job/parts.h) that show a difference; two of them show it if it is younger */
	SPREAD_AS_LATE = 32, /* of so many others one may be as late: it may be at fault as well */
};

struct spread_order;

/* The differences as they stand at a cut of the lane of `comm`, put in order once, when first somebody asks: many
 * members may be late in it. Holds until a member becomes late, or is late no longer. Begin with the first three, and
 * end with spread_forget(). */
struct spread {
	const struct lanes *lanes;
	const struct world *world;
	const struct world_comm *comm;
	struct spread_order *orders[SPREAD_PARTS + 1]; /* by number of parts; NULL: nobody has asked yet */
};

/* Of a member that is late by less than SPREAD_USUAL and not late so far, by the last parts of all lanes. False: it
 * does not stand out, or too little is known. */
bool spread_is_exceeded(struct spread *spread, uint32_t member);
void spread_forget(struct spread *spread);

#endif
