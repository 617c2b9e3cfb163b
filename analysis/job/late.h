/* SPDX-License-Identifier: MIT */
/* From ranks that lanes show late to findings: the rank, or its host where all ranks of that are. What a rank's own host has named is
 * not told again. docs/messages.md, "Late". */
#ifndef ANALYSIS_JOB_LATE_H
#define ANALYSIS_JOB_LATE_H

#include "analysis/findings.h"
#include "analysis/job/lanes.h"

#define LATE_SETTLE_NS 5000000000u  /* the others of its host, and what its host says itself, are waited for */
#define LATE_UPDATE_NS 10000000000u
/* Noise of a few cuts that looked like more is over by then: of late it must have been as late as this. */
#define LATE_RECENT_MIN 0.03
/* A rank that is half as late as the latest of its host is late with it. */
#define LATE_NEAR 0.5

void late_tick(const struct lanes *lanes, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
