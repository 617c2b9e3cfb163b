/* SPDX-License-Identifier: MIT */
/* One job played through one analysis, and what was found at the end. */
#ifndef TEST_ANALYSIS_PLAYED_H
#define TEST_ANALYSIS_PLAYED_H

#include "tests/unit/analysis/jobs/history.h"

struct played {
	struct history *history;
	struct analysis *analysis;
	const struct history_finding *findings; /* of the history */
	size_t count;
};

struct played play(const struct history_job *job);
void end(struct played *played);

#endif
