/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that have a different result of an operation than most, where all ranks must have the same bits. It
 * compares ranks of several hosts by sums over the digests of the same operations. Each host compares its own ranks
 * (analysis/values/corruption.h). docs/messages.md, "Results".
 */
#ifndef ANALYSIS_JOB_AGREEMENT_H
#define ANALYSIS_JOB_AGREEMENT_H

#include "analysis/report/findings.h"
#include "analysis/job/world.h"

#define AGREEMENT_SETTLE_NS                                                                                            \
	5000000000u /* waits this long for the digests of the other members, and for findings of the hosts themselves  \
		     */
enum { AGREEMENT_VOTERS = 3 }; /* fewest members that can be judged: of two that differ neither is the odd one */

/* Reports findings. Call it at each tick of the job half. */
void agreement_tick(struct world *world, struct findings *findings, uint64_t now_ns);

#endif
