/* SPDX-License-Identifier: MIT */
/* What a suspected rank costs the job: docs/analysis.md, "Lost time". */
#ifndef ANALYSIS_LATE_STRAGGLER_COST_H
#define ANALYSIS_LATE_STRAGGLER_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct straggler_cost {
	uint64_t lost_ns, at_most_ns; /* per step: what is certain, and what it may be */
	uint64_t step_ns;
	uint64_t since_step;
	bool at_least; /* lost_ns: not all operations of these steps were followed and nothing else says that it is all,
			* or steps grew far more */
};

/* What the job loses by these ranks (indices; the first is asked since when) while all other suspects are like the
 * rest. Keeps in the suspect since when, and how long steps took before: blames and steps are forgotten sooner than it
 * ends. */
struct straggler_cost straggler_cost(struct analysis *analysis, const uint32_t *ranks, uint32_t count);

#endif
