/* SPDX-License-Identifier: MIT */
/*
 * Ranks of several hosts that have made other collective calls than most, though nothing stands: by the hashes of their first calls, at
 * equal places. Nobody is named of whose calls some were not seen: no hash of those is sent. docs/messages.md, "Order".
 */
#ifndef ANALYSIS_JOB_ORDER_H
#define ANALYSIS_JOB_ORDER_H

#include "analysis/findings.h"
#include "analysis/job/world.h"

#define ORDER_SETTLE_NS 5000000000u  /* for the hashes of the other members, and for what hosts find themselves */
#define ORDER_LOOK_NS   1000000000u
#define ORDER_UNSURE_NS 60000000000u /* while no hash is that of most: those of a later place may tell */

void order_tick(struct world *world, struct findings *findings, uint64_t now_ns);

#endif
