/* SPDX-License-Identifier: MIT */
/* Ranks that call different collectives at the same place of a communicator's order: docs/analysis.md, "Desync". */
#ifndef ANALYSIS_DESYNC_H
#define ANALYSIS_DESYNC_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/call_order.h"
#include "analysis/job.h"

#define DESYNC_SETTLE_NS 500000000u /* for the black boxes' counts to be read again: they show what was not seen */
#define DESYNC_WAIT_NS   2000000000u /* for the calls of the ranks that have not come to the place yet */

/* Operations that its black box announced and nobody has seen: those before the reader came, and lost ones. The box's count is read before
 * its operations: less than 0 where some came between. */
int64_t desync_unseen(const struct member *member, const struct caller *caller);
/* Tells of each communicator whose ranks have parted, once. */
void desync_tick(struct analysis *analysis, uint64_t now_ns);

#endif
