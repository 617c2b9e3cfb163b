/* SPDX-License-Identifier: MIT */
/*
 * The current state of the job according to the messages of all hosts, for display: like analysis/view/view.h for one
 * host, as far as messages have it. It is read only. Strings are valid until the next job_half_take() or
 * job_half_tick(). Times are of the reader's clock, in ns.
 */
#ifndef ANALYSIS_JOB_JOB_VIEW_H
#define ANALYSIS_JOB_JOB_VIEW_H

#include <stdint.h>

#include "analysis/known/cells.h"
#include "analysis/view/view.h"

struct world;
struct course;

struct job_view {
	const struct world *world;
	const struct course *course;
	uint64_t now_ns;
};

/* Visits the ranks in the order in which they were first heard of, if job_half_keep_course() was called. That is the
 * order of the cells. */
void job_view_ranks(const struct job_view *view, analysis_rank_visit *visit, void *argument);
/* Visits the communicators that messages report. The number of called operations is only known of ranks that make no
 * progress. */
void job_view_communicators(const struct job_view *view, analysis_communicator_visit *visit, void *argument);
/* Visits operations older than a second, one of each communicator: that in which most members wait. Members of which
 * nothing is known are counted as unseen. */
void job_view_flights(const struct job_view *view, analysis_flight_visit *visit, void *argument);
/* The shortest watchdog of any rank, counted from the oldest of these operations. */
void job_view_deadline(const struct job_view *view, struct analysis_deadline *deadline);
/* Fills in ranks, ranks_total, communicators, and operations (those after the first row of each rank). */
void job_view_summary(const struct job_view *view, struct analysis_summary *summary);
/* How the ranks spent their time, by second. */
const struct cells *job_view_cells(const struct job_view *view);

#endif
