/* SPDX-License-Identifier: MIT */
/* Two runs of one program, operation by operation: where the calls, the values and the times part. One thread. */
#ifndef CONSOLE_COMPARE_COMPARE_H
#define CONSOLE_COMPARE_COMPARE_H

#include "console/cli/progress.h"
#include "console/compare/partings.h"
#include "console/compare/side.h"
#include "console/compare/times.h"

#define COMPARE_MAGNITUDE 0.05 /* of the larger value, in three scans in a row */

/* Zeroed = empty. */
struct comparison {
	struct partings partings;
	struct times times;
	size_t ranks;             /* of which both runs have a box */
	size_t only[TIMES_SIDES]; /* ranks of one run alone */
	size_t lines, lines_only[TIMES_SIDES]; /* communicators, counted once a rank */
	uint64_t calls;           /* that were compared */
	uint64_t more[TIMES_SIDES]; /* calls behind the end of the other run */
	uint64_t scans, digests;  /* that both runs have of the same call */
	/* from the first to the last call that was compared: median of the ranks; -1 none */
	double span_ms[TIMES_SIDES];
	bool truncated;                /* a box could not be read to its end, which was said */
};

/* progress: NULL none is shown. 0 or -ENOMEM; free in both cases. */
int compare_runs(struct comparison *comparison, const struct side sides[TIMES_SIDES], const char *command,
		 struct progress *progress);
void comparison_free(struct comparison *comparison);
/* deterministic: bits that differ count, too. */
bool comparison_differs(const struct comparison *comparison, bool deterministic);

#endif
