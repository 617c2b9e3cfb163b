/* SPDX-License-Identifier: MIT */
/* Ranks that run something else than the others: NCCL, CUDA driver, rankwatch, or NCCL variables that must agree. */
#ifndef ANALYSIS_HANG_VERSION_FINDING_H
#define ANALYSIS_HANG_VERSION_FINDING_H

#include <stdbool.h>
#include <stdint.h>

struct analysis;

#define VERSIONS_SETTLE_NS 2000000000u /* after the last process has come */

/* Which processes and ranks had come at the last tick. */
struct versions_watch {
	uint32_t processes, ranks;
	uint64_t since_ns;
	bool compared;
};

/* One finding for all differences; compares when processes have come and no other came for VERSIONS_SETTLE_NS. */
void version_finding_tick(struct analysis *analysis, uint64_t now_ns);

#endif
