/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that are missing while ranks of other hosts wait for them. It uses what each host reports about
 * unfinished operations, calls, and the state of its ranks' processes. A rank about which nothing was reported is never
 * named. docs/messages.md, "When nothing moves".
 */
#ifndef ANALYSIS_JOB_STAND_H
#define ANALYSIS_JOB_STAND_H

#include "analysis/report/findings.h"
#include "analysis/job/open.h"
#include "analysis/job/place.h"
#include "analysis/job/world.h"

#define STAND_LOOK_NS    500000000u
#define STAND_WHY_NS     6000000000u  /* a WHY is sent every two seconds: one older than this is not used */
#define STAND_GONE_NS    3000000000u  /* wait of others after which a rank that is gone or stopped is reported */
#define STAND_AFTER_NS   3000000000u  /* the same for a rank that makes no progress; three rows, if that is longer, … */
#define STAND_AFTER_MAX_NS 30000000000u /* … but not longer than this */
#define STAND_SEARCH_NS  8000000000u  /* wait up to which a desync is not reported while its first call is searched */
#define STAND_UNKNOWN_NS                                                                                               \
	10000000000u /* the same while no row is known; a rank that makes progress or is unknown is a notice … */
#define STAND_LIMIT_NS   30000000000u /* … up to this wait, or up to … */
#define STAND_LIMIT_SHARE 0.25        /* … this share of the watchdog's time, and not beyond … */
#define STAND_LIMIT_MOST 0.5          /* … this one */
#define STAND_BLIND_NS   15000000000u /* for a host that sends nothing while its ranks continue */

struct stand {
	struct open open;
	uint64_t looked_ns;
	uint64_t critical_ns; /* when a critical finding was last reported; 0: never */
};

/* Opens, updates and closes findings. Call it at each tick of the job half. */
void stand_tick(struct stand *stand, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
