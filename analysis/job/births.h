/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that do not come to the init of a communicator (ncclCommInitRank and its kin) whose members are on
 * several hosts, by what the hosts report of it. Who is missing is found as on one host (analysis/hang/gatherings.h).
 * docs/messages.md, "Init".
 */
#ifndef ANALYSIS_JOB_BIRTHS_H
#define ANALYSIS_JOB_BIRTHS_H

#include "analysis/report/findings.h"
#include "analysis/job/open.h"
#include "analysis/job/stand.h"
#include "analysis/job/world.h"

#define BIRTHS_LOOK_NS  500000000u
#define BIRTHS_QUIET_NS 10000000000u /* for so long nothing was heard of a rank: hosts are asked anew every 5 s */
enum { BIRTHS_MISSING_MAX = 32 /* where more are missing, that is no single rank's affair */ };

struct births {
	struct open open;
	uint64_t looked_ns;
};

/* Opens, updates and closes findings. Call it after stand_tick(): what stands in operations is the affair of
 * `stand`. */
void births_tick(struct births *births, struct world *world, const struct stand *stand, struct findings *findings,
		 uint64_t now_ns);

#endif
