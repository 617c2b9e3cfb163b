/* SPDX-License-Identifier: MIT */
/*
 * What the messages of all hosts say right now, for somebody who looks: as analysis/view.h does of one host, as far as it is known.
 * Read only; strings are valid until the job half takes or ticks again. Times: the reader's clock, ns.
 */
#ifndef ANALYSIS_JOB_JOB_VIEW_H
#define ANALYSIS_JOB_JOB_VIEW_H

#include <stdint.h>

#include "analysis/cells.h"
#include "analysis/view.h"

struct world;
struct course;

struct job_view {
	const struct world *world;
	const struct course *course;
	uint64_t now_ns;
};

/* In the order in which they were heard of, as soon as job_half_keep_course() was called. Index: as in the cells. */
void job_view_ranks(const struct job_view *view, analysis_rank_visit *visit, void *argument);
/* Those that messages tell of. How many operations a rank has called is known of who stands. */
void job_view_communicators(const struct job_view *view, analysis_communicator_visit *visit, void *argument);
/* Operations older than a second, one of each communicator: that in which most stand. Of whom nothing is known is counted as unseen. */
void job_view_flights(const struct job_view *view, analysis_flight_visit *visit, void *argument);
/* The least time of any rank's watchdog, from the oldest of these operations on. */
void job_view_deadline(const struct job_view *view, struct analysis_deadline *deadline);
/* ranks, ranks_total, communicators and operations (those behind the first cut of each rank). */
void job_view_summary(const struct job_view *view, struct analysis_summary *summary);
const struct cells *job_view_cells(const struct job_view *view);

#endif
