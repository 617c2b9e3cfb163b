/* SPDX-License-Identifier: MIT */
/*
 * Which rank of several hosts ended first. NCCL ends the others within milliseconds of one that is killed, and hosts
 * look at their processes, and at their clocks, apart: of those that end within a second of each other, how they ended
 * decides. docs/messages.md, "When nothing moves".
 */
#ifndef ANALYSIS_JOB_ENDS_H
#define ANALYSIS_JOB_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/finding.h>

#include "analysis/job/world.h"

#define ENDS_TOGETHER_NS 1000000000u /* later ends are consequences of the first */
#define ENDS_SPREAD      2           /* times as far off as the others are apart is one that failed as they did */
#define ENDS_VICTIMS     2           /* ranks of other hosts, at least, that failed within that time of the only one
				      * that was killed; where some rank still runs, one fewer */

struct ends_first {
	uint32_t rank;                 /* WORLD_NONE: none has ended */
	enum rw_confidence confidence; /* that it was the first; inconclusive: it is one of those that may have been */
	bool missed;                   /* of all that failed together, it alone had not come to where another one waited */
	uint64_t before_ns;            /* so long before the next one; 0: not known, or within ENDS_TOGETHER_NS */
};

/* missing: by world rank, is it one that others wait for? */
struct ends_first ends_find_first(const struct world *world, const bool *missing, uint64_t now_ns);
/* Have all ranks of the job ended, and none by itself without an error? */
bool ends_all(const struct world *world);

#endif
