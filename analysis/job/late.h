/* SPDX-License-Identifier: MIT */
/* Makes findings of the ranks that are late in lanes, or by rows. A finding is about the rank, or about its host where
 * all ranks of the host are late. A rank that its own host has already named is not reported again. docs/messages.md,
 * "Late". */
#ifndef ANALYSIS_JOB_LATE_H
#define ANALYSIS_JOB_LATE_H

#include "analysis/report/findings.h"
#include "analysis/job/lanes.h"
#include "analysis/job/row_lanes.h"

#define LATE_SETTLE_NS 5000000000u  /* waits this long for other ranks of the host, and for findings of the host itself */
#define LATE_SETTLE_ROWS_NS 2000000000u /* the same for ranks that are late by their rows: these show all ranks of the host in the same row */
#define LATE_UPDATE_NS 10000000000u
/* Recent lateness must be at least this, because noise of a few cuts that passed the test is over by then. */
#define LATE_RECENT_MIN 0.03
/* The same, of a rank that is late evenly, as a part of LATE_LEVEL_SHARE. */
#define LATE_RECENT_EVEN 0.8
/* A rank that is half as late as the latest of its host is late with it. */
#define LATE_NEAR 0.5

/* Opens, updates and closes findings. Call it after lanes_tick() and row_lanes_tick(). */
void late_tick(const struct lanes *lanes, const struct row_lanes *rows, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
