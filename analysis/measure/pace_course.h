/* SPDX-License-Identifier: MIT */
/*
 * How long the job's steps took over its whole run: do they take longer for good, or longer with each step? Of the
 * newest steps each is kept, older ones are merged three to one, and again, by their medians. It is about the job and
 * names nobody. docs/summaries.md, "Everybody slower".
 */
#ifndef ANALYSIS_MEASURE_PACE_COURSE_H
#define ANALYSIS_MEASURE_PACE_COURSE_H

#include <stdint.h>

#include "analysis/analysis.h"

struct record;

enum {
	/* blocks of one length: beyond, the three oldest of them become one of the next length */
	PACE_COURSE_BLOCKS = 96,
	PACE_COURSE_LENGTHS = 8,  /* 1, 3, 9 … 2,187 steps; beyond the blocks of the longest the oldest is forgotten */
	PACE_COURSE_ROOM = (PACE_COURSE_BLOCKS + 3) * PACE_COURSE_LENGTHS,
	PACE_COURSE_OPEN = 4,     /* steps whose last records may still come */
	PACE_COURSE_LEAST = 48,   /* blocks, before anything is said … */
	PACE_COURSE_LASTING = 24, /* … and steps before a change, and behind it */
	/* times as many steps as growth was seen for are what it is extrapolated by, at most */
	PACE_COURSE_FAR = 100,
};
#define PACE_COURSE_MS     20.0 /* what steps must take longer by … */
#define PACE_COURSE_SHARE  0.1  /* … and of what they took before, the larger of the two */
#define PACE_COURSE_BEYOND 3.0  /* times what the median of as many steps ever changed by before */
/* of what steps grow by that their longest wait grows by, at least: then it leads to the watchdog */
#define PACE_COURSE_WAIT   0.2
#define PACE_COURSE_LATE   0.5  /* of what steps take longer, that the latest rank came later: then it is waiting */

/* Medians over `steps` steps, of which this is the first. */
struct pace_block {
	uint64_t step;
	uint32_t steps;
	float step_ms;
	float wait_ms; /* the longest of the step from the first call of an operation to the last arrival */
	float late_ms; /* what the rank was late by that was so most, summed over the step */
};

/* Zeroed: no step is known. */
struct pace_course {
	struct pace_block blocks[PACE_COURSE_ROOM]; /* the oldest, and longest, first */
	uint32_t count, counts[PACE_COURSE_LENGTHS];
	struct open_step {
		uint64_t step, start_ns; /* 0: its start is not known */
		float wait_ms, late_ms;
	} open[PACE_COURSE_OPEN];        /* by step % PACE_COURSE_OPEN */
	uint64_t newest;                 /* step that has begun; 0 none */
	uint32_t numbering;              /* that they have their numbers from */
	uint64_t told_step;              /* newest when `told` was found out, for findings */
	struct analysis_pace told;
};

/* A step has begun. When steps are numbered anew, all that was known is forgotten. */
void pace_course_begin(struct pace_course *course, uint32_t numbering, uint64_t step, uint64_t start_ns);
/* An operation of the step: from its first call to the last arrival. */
void pace_course_wait(struct pace_course *course, uint64_t step, uint64_t wait_ns);
/* A rank was late by so much in the step, in sum: before the step behind the next begins. */
void pace_course_late(struct pace_course *course, uint64_t step, uint64_t late_ns);
/* By the numbers that steps were noted with; `watchdog_ms` and what follows from it stays 0. */
struct analysis_pace pace_course_judge(const struct pace_course *course);
/* As it may be told, with the shortest watchdog of any process that is known. */
void pace_course_tell(const struct analysis *analysis, struct analysis_pace *told);
/* The forecast of a job whose steps grow because this finding's ranks cost lost_ns a step more: into its watchdog. */
void pace_course_attach(struct analysis *analysis, struct record *record, uint64_t lost_ns);

#endif
