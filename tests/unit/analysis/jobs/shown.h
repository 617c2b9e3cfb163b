/* SPDX-License-Identifier: MIT */
/* All that an analysis shows beside its findings, as lines: to be held against what it showed before. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_SHOWN_H
#define TESTS_UNIT_ANALYSIS_JOBS_SHOWN_H

#include <stdio.h>

#include "analysis/analysis.h"

/* An analysis_time_visit; the argument is a FILE. */
void shown_stretch(void *out, const struct analysis_stretch *stretch);
/* Ranks, communicators, flights, the newest operations and threads of the first ranks, what it wants to know. */
void shown_now(FILE *out, const struct analysis *analysis);
/* Account, pipelines, memory of the GPUs, summary, cells if they are kept: in the end. */
void shown_in_the_end(FILE *out, const struct analysis *analysis);

#endif
