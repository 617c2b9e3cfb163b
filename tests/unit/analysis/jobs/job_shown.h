/* SPDX-License-Identifier: MIT */
/* All that a job half shows beside its findings, as lines: to be held against what it showed before. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_JOB_SHOWN_H
#define TESTS_UNIT_ANALYSIS_JOBS_JOB_SHOWN_H

#include <stdio.h>

#include "analysis/job/job_half.h"
#include "analysis/job/job_view.h"

/* The job half's counters; its ranks, communicators and flights; its watchdog, and cells if they are kept. */
void job_shown(FILE *out, const struct job_view *view, const struct job_half_summary *is);

#endif
