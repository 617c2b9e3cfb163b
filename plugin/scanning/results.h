/* SPDX-License-Identifier: MIT */
/* What becomes of results, on the drain thread: of operations, and of replays of captured calls. */
#ifndef PLUGIN_SCANNING_RESULTS_H
#define PLUGIN_SCANNING_RESULTS_H

#include "plugin/cost/budget.h"
#include "plugin/recording/recording.h"
#include "plugin/scan/scan_kernel.h"

/* What was found in a buffer of `elements` elements goes into the slot, which is the caller's, and leads to what the user
 * wants of a NaN (RANKWATCH_ON_NAN). sides: RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both. */
void scanning_record(struct recording *recording, struct rw_operation *slot, uint32_t sides,
		     const struct scan_result *result, uint64_t elements, uint64_t now_ns);
/* What was added to the job so far, as far as it is known or can be charged by what one launch and one write cost. */
struct budget_cost scanning_cost(struct recording *recording);
/* Records what replays of graphs have found since the last poll, if anything, and decides how many of the next are scanned. every: as the
 * budget says. */
bool scanning_drain_replays(struct recording *recording, uint32_t every, uint64_t now_ns);

#endif
