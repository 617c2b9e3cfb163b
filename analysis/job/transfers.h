/* SPDX-License-Identifier: MIT */
/*
 * Operations of a job on many hosts that take longer for all ranks alike, while none works longer: a slow network, or a
 * link within a host. It compares the newest rows of time (analysis/job/job_rows.h) with those before. Of a row, the
 * rank that was inside operations least waited for the others least, so what it was inside is nearest to what transfers
 * take. docs/messages.md, "Slow operations".
 *
 * Late ranks do not look like it: each works longer, so all together work longer by at least what the job loses, also
 * where another one is late each time. Where noise of their work hides that, the finding is inconclusive.
 */
#ifndef ANALYSIS_JOB_TRANSFERS_H
#define ANALYSIS_JOB_TRANSFERS_H

#include "analysis/job/job_rows.h"
#include "analysis/job/world.h"
#include "analysis/report/findings.h"

enum {
	TRANSFERS_NEWEST = 8,  /* rows that all must show it */
	TRANSFERS_BEFORE = 24, /* rows before them, at least */
};
#define TRANSFERS_COST_MS 20.0 /* a row must take longer by, … */
#define TRANSFERS_SHARE   0.05 /* … and by this part of it, the larger of the two, … */
#define TRANSFERS_BEYOND  3.0  /* … and by so many times what the median of as many rows differed by before */

/* Opens and closes the one finding. */
void transfers_tick(const struct job_rows *rows, const struct world *world, struct findings *findings, uint64_t now_ns);

#endif
