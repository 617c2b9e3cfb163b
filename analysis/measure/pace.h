/* SPDX-License-Identifier: MIT */
/* How long the job's steps take, from the start of one to the start of the next: the newest of them, and the first. */
#ifndef ANALYSIS_MEASURE_PACE_H
#define ANALYSIS_MEASURE_PACE_H

#include <stdint.h>

#include "analysis/analysis.h"

enum {
	PACE_STEPS = 64, /* the newest starts that are kept */
	PACE_USUAL = 20, /* steps whose median is the usual step time */
	PACE_FEW = 5,    /* steps at the beginning and at the end that a summary tells of; the very first warms up */
	PACE_FIRST = ANALYSIS_FIRST_STEPS, /* steps at the beginning whose durations are kept one by one */
};

struct pace {
	struct step_start {
		uint64_t step, start_ns;
	} starts[PACE_STEPS]; /* by step % PACE_STEPS */
	uint64_t usual_ns;    /* median of the newest PACE_USUAL; every tick asks for it several times */
	uint64_t first_step;  /* noted; 0 none */
	uint64_t first_ns;    /* median of PACE_FEW steps behind it; 0 not known */
	uint64_t firsts_ns[PACE_FIRST]; /* durations of first_step and of those behind it; 0 not known */
};

/* A step has started; 0 is none. Steps may be noted again, in order. */
void pace_note(struct pace *pace, uint64_t step, uint64_t start_ns);
/* From the start of this step to that of the next; 0 not known. */
uint64_t pace_duration_ns(const struct pace *pace, uint64_t step);
/* Median duration of the last steps, at most `last`; 0 not known. */
uint64_t pace_step_ns(const struct pace *pace, uint32_t last);

#endif
