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

struct transfers_before {
	/* What the rank that was inside operations least was so, of a step or row, before they took longer, and by how
	 * much longer it had to be. Kept while the finding is open: the rows before are soon of slow ones, too. */
	double inside_ms, limit_ms;
};

/* Opens and closes the one finding. It is over when rows are again as they were before it, when a late rank is found
 * that explains it, or when nothing is known any more that rows could be compared with: ranks have left or come, or
 * steps have other calls than before. */
void transfers_tick(struct transfers_before *before, const struct job_rows *rows, const struct world *world,
		    struct findings *findings, uint64_t now_ns);

#endif
