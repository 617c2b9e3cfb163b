/* SPDX-License-Identifier: MIT */
/* Asks hosts why their ranks are late or missing, as long as they are, and which calls their ranks have made, where
 * calls differ. docs/messages.md, "Why" and "Order". */
#ifndef ANALYSIS_JOB_ASKS_H
#define ANALYSIS_JOB_ASKS_H

#include "analysis/job/job_half.h"
#include "analysis/job/world.h"

#define ASKS_EVERY_NS 5000000000u
#define ASKS_LOOK_NS  500000000u
#define ASKS_FRESH_NS 2000000000u /* a rank that was not suspected for this long is no longer asked about */
enum { ASKS_MAX = 64 /* ranks per look, and hosts none of whose ranks is known */ };

struct asks {
	uint64_t looked_ns;
	uint64_t number; /* number of the next batch */
};

/* Calls `ask` with a batch of one RW_MESSAGE_ASK or RW_MESSAGE_ASK_CALLS for each rank whose host is to be asked now,
 * and for each host that is to be asked whether a rank is there. */
void asks_tick(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument);

#endif
