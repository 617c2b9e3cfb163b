/* SPDX-License-Identifier: MIT */
/*
 * The fire drill's library: preloaded by `rankwatch drill` and by nothing else. In the process of one rank it sleeps
 * before NCCL calls, for a time that is set before the job starts, and is then done for good. The plugin has no part in
 * it.
 */
#ifndef DRILL_DELAY_H
#define DRILL_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define DRILL_LIBRARY  "librankwatch-drill.so"
/* drill_plan as text; without it, or when it makes no sense, nothing is delayed */
#define DRILL_VARIABLE "LIBRANKWATCH_DRILL_PLAN"

enum { DRILL_LOG = 256 };

#define DRILL_DELAY_MAX_NS 5000000000u    /* of one delay */
#define DRILL_FOR_MAX_NS   600000000000u  /* of all */

struct drill_plan {
	int32_t rank;                            /* in the world */
	uint64_t delay_ns, every_ns;             /* sleeps so long, at most once in every_ns */
	uint64_t after_ns, for_ns;               /* begins so long after the rank's first call, and ends then */
	/* file that says when; the process that makes it is the one that delays */
	char log[DRILL_LOG];
};

/* "3 50000000 500000000 10000000000 20000000000 /tmp/…"; bounds included. Pure. */
bool drill_plan_read(struct drill_plan *plan, const char *text);

#endif
