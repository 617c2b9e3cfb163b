/* SPDX-License-Identifier: MIT */
/* Makes findings of the ranks that are late by their rows. A finding is about the rank, or about its host where
 * all ranks of the host are late. A rank that its own host has already named is not reported again. docs/messages.md,
 * "Late". */
#ifndef ANALYSIS_JOB_LATE_H
#define ANALYSIS_JOB_LATE_H

#include "analysis/report/findings.h"
#include "analysis/job/job_rows.h"

#define LATE_ADOPTED_NS 20000000000u /* what its host no longer finds, rows show for as long */
#define LATE_SETTLE_NS 2000000000u /* waits this long for findings of the host itself */
#define LATE_UPDATE_NS 10000000000u
/* Of LATE_LEVEL_SHARE: a rank that is late by as much in all rows must still be late by so much. */
#define LATE_RECENT_LEVEL 0.8
/* A rank that is half as late as the latest of its host is late with it. */
#define LATE_NEAR 0.5

/* Opens, updates and closes findings. Call it after job_rows_tick(). */
void late_tick(const struct job_rows *rows, struct world *world, struct findings *findings, uint64_t now_ns);

#endif
