/* SPDX-License-Identifier: MIT */
/* What becomes of results, on the drain thread: of operations, and of replays of captured calls. */
#ifndef PLUGIN_SCANNING_RESULTS_H
#define PLUGIN_SCANNING_RESULTS_H

#include "plugin/cost/budget.h"
#include "plugin/recording/recording.h"
#include "plugin/scan/scan_kernel.h"

/* Writes the result of a buffer of `elements` elements into the slot, which the caller holds, and does what
 * RANKWATCH_ON_NAN asks for. sides: RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both. */
void scanning_record(struct recording *recording, struct rw_operation *slot, uint32_t sides,
		     const struct scan_result *result, uint64_t elements, uint64_t now_ns);
/* What the plugin has added to the job so far: measured time, and for each launch and write what one was measured to
 * take. */
struct budget_cost scanning_cost(struct recording *recording);
/* Records the results of graphs' replays since the last poll and decides how many of the next replays are scanned.
 * every: by the budget. Returns whether there were any. */
bool scanning_drain_replays(struct recording *recording, uint32_t every, uint64_t now_ns);

#endif
