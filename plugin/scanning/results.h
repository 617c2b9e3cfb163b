/* SPDX-License-Identifier: MIT */
/* What becomes of results, on the drain thread: of operations, and of replays of captured calls. */
#ifndef PLUGIN_SCANNING_RESULTS_H
#define PLUGIN_SCANNING_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/cost/budget.h"
#include "plugin/recording/recording.h"
#include "plugin/scan/scan_kernel.h"

/* Of a buffer. */
struct scanning_found {
	uint32_t sides; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
	bool is_before; /* it was scanned before its operation, and what was done since is known in its order */
	uint64_t ticket, elements;
	const struct scan_result *result;
};

/* Writes the result into the slot, which the caller holds, and does what RANKWATCH_ON_NAN asks for. */
void scanning_record(struct recording *recording, struct rw_operation *slot, const struct scanning_found *found,
		     uint64_t now_ns);
/* What the plugin has added to the job so far: measured time, and for each launch and write what one was measured to
 * take. */
struct budget_cost scanning_cost(struct recording *recording);
/* Records the results of graphs' replays since the last poll and decides how many of the next replays are scanned.
 * every: by the budget. Returns whether there were any. */
bool scanning_drain_replays(struct recording *recording, uint32_t every, uint64_t now_ns);

#endif
