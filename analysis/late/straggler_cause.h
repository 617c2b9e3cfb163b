/* SPDX-License-Identifier: MIT */
/* Why a suspected rank is late: which of its operations shows it, and what its threads, its host and its GPU did
 * then. */
#ifndef ANALYSIS_LATE_STRAGGLER_CAUSE_H
#define ANALYSIS_LATE_STRAGGLER_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/late/straggler.h"
#include "analysis/late/straggler_cost.h"

enum {
	STRAGGLER_REACH = 3,       /* how many steps back a cause is searched */
};
#define STRAGGLER_SEEN_SHARE    0.5 /* of its lateness that a cause explains, which then tells it before chance is
				     * excluded */
#define STRAGGLER_HELD_SHARE 0.9 /* … and so much of it, where it sleeps, or waits for another thread or process that
				  * was seen to end that */

/* What the finding shows: the latest late operation, and its instance without the operations; of one that is late now
 * and then, the latest of those times. */
const struct operation *straggler_shown_operation(const struct suspect *suspect);
const struct instance *straggler_shown_instance(const struct suspect *suspect);
/* The latest windows in which the cause is searched, CAUSE_WINDOWS at most, those of the last reach_ns (0: all); of one
 * that is late now and then, those of its times. of_host: those that begin at the previous launch. Returns how many. */
uint32_t straggler_windows(const struct suspect *suspect, bool of_host, uint64_t reach_ns, struct cause_window *recent);
/* Its host launched the shown operation late. */
bool straggler_is_host_late(const struct suspect *suspect);
/* Nobody knows whether its host or its GPU came late. */
bool straggler_host_part_is_unknown(const struct suspect *suspect);
/* The cause of the rank's lateness: of the launching thread, else of its first thread, else of its GPU. */
void straggler_find_cause(const struct analysis *analysis, uint32_t rank, const struct straggler_cost *cost,
			  struct cause *cause);
/* Whether such a cause is no chance: it tells the rank, however the others fare. */
bool straggler_is_told_by(const struct cause *cause);
/* Whether a cause is seen for so much of its lateness that it is not chance. */
bool straggler_is_explained(struct analysis *analysis, uint32_t rank);
/* The same, and the cause is its GPU's. */
bool straggler_is_late_by_its_gpu(struct analysis *analysis, uint32_t rank);

#endif
