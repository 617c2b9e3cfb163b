/* SPDX-License-Identifier: MIT */
/* How late each rank arrived in one instance, and whether its host or its device caused that. docs/analysis.md,
 * "Lateness". */
#ifndef ANALYSIS_MEASURE_LATENESS_H
#define ANALYSIS_MEASURE_LATENESS_H

#include "analysis/known/instances.h"
#include "analysis/known/job.h"

/* Differences below this are noise of the sampling of the GPU page (2 ms) and of the scheduler. */
#define LATENESS_NOISE_NS 4000000u

/* Judges a complete instance: sets its start_ns and median_ns, and by_us, late_us, host_us, work_us and idle_us of its
 * operations. Call it once for each instance, in order of completion. */
void lateness_judge(struct job *job, struct instance *instance);

#endif
