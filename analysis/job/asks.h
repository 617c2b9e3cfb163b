/* SPDX-License-Identifier: MIT */
/* Asks hosts why ranks of theirs are late or do not come, while it is so. docs/messages.md, "Why". */
#ifndef ANALYSIS_JOB_ASKS_H
#define ANALYSIS_JOB_ASKS_H

#include "analysis/job/job_half.h"
#include "analysis/job/world.h"

#define ASKS_EVERY_NS 5000000000u
#define ASKS_LOOK_NS  500000000u
#define ASKS_FRESH_NS 2000000000u /* whoever was not suspected for so long is not asked for any more */
enum { ASKS_MAX = 64 /* ranks at a look */ };

struct asks {
	uint64_t looked_ns;
	uint64_t number; /* of the batches */
};

void asks_tick(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument);

#endif
