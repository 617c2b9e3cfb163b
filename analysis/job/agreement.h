/* SPDX-License-Identifier: MIT */
/*
 * Ranks of several hosts that have another result of an operation than most, where all must have the same bits: by sums over the
 * digests of the same operations. Ranks of one host are compared there (analysis/corruption.h). docs/messages.md, "Results".
 */
#ifndef ANALYSIS_JOB_AGREEMENT_H
#define ANALYSIS_JOB_AGREEMENT_H

#include "analysis/findings.h"
#include "analysis/job/world.h"

#define AGREEMENT_SETTLE_NS 5000000000u /* for the digests of the other members, and for what hosts find themselves */
enum { AGREEMENT_VOTERS = 3 }; /* of two that differ neither is the odd one */

void agreement_tick(struct world *world, struct findings *findings, uint64_t now_ns);

#endif
