/* SPDX-License-Identifier: MIT */
/* Finds ranks that call different collectives at the same place in a communicator's order: docs/analysis.md,
 * "Desync". */
#ifndef ANALYSIS_HANG_DESYNC_H
#define ANALYSIS_HANG_DESYNC_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/call_order.h"
#include "analysis/known/job.h"

enum { DESYNC_PARALLEL = 8 }; /* calls before, in which a parallel group must have done the same */
#define DESYNC_SETTLE_NS                                                                                               \
	500000000u /* waits this long until the black boxes' counts were read again, which show unseen calls */
#define DESYNC_WAIT_NS   2000000000u /* waits this long for the calls of ranks that have not reached the place yet */

/* Number of operations that the member's black box counts but that were not seen: those before the reader started, and
 * lost ones. The box's count is read before its operations, so the result is less than 0 where some came in between. */
int64_t desync_unseen(const struct member *member, const struct caller *caller);
/* Since when the communicator's ranks are known to make different calls, or were seen to and are judged in a moment:
 * who waits there from then on does so for that. 0: they are not, or nobody knows which of them it is. */
uint64_t desync_since(const struct analysis *analysis, const struct communicator *communicator, uint64_t now_ns);
/* The earliest of all communicators of the rank. */
uint64_t desync_of_rank(const struct analysis *analysis, uint32_t rank, uint64_t now_ns);
/* Reports each communicator whose ranks call different collectives, once. */
void desync_tick(struct analysis *analysis, uint64_t now_ns);

#endif
