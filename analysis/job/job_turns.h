/* SPDX-License-Identifier: MIT */
/*
 * Waiting that goes round among the ranks of many hosts (analysis/view/turns.h), by the rows that they report: whom the
 * others waited for in each row, by how much longer it worked than the next one. So it is a lower bound. It knows no
 * clock.
 */
#ifndef ANALYSIS_JOB_JOB_TURNS_H
#define ANALYSIS_JOB_JOB_TURNS_H

#include <stdint.h>

#include "analysis/analysis.h"

struct job_turns_rank {
	uint32_t times; /* rows in which the others waited for it for ACCOUNT_TOLD_NS or longer, … */
	uint64_t waits_ns; /* … for how long, all of them together, … */
	double host_us, device_us; /* … and what it was late by in these, by host or device */
};

struct job_turns {
	struct job_turns_rank *ranks; /* by world rank */
	uint32_t room;
	uint64_t steps; /* of the rows that were compared */
	double all_ns;  /* time of all ranks in them */
};

/* One rank in a row. */
struct job_turns_row {
	uint32_t rank, others; /* so many are compared with it */
	double beyond_ms;      /* later than the next one */
	double lasted_us, host_us, device_us; /* these two: longer than those that it is compared with */
};

/* Where there is no memory nobody waited for this one. */
void job_turns_note(struct job_turns *turns, const struct job_turns_row *row);
/* Among so many ranks. told->times is 0 where it does not go round, or steps are not known. */
void job_turns_tell(const struct job_turns *turns, uint32_t ranks, struct analysis_turns *told);
void job_turns_free(struct job_turns *turns);

#endif
