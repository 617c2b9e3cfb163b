/* SPDX-License-Identifier: MIT */
/* How late each rank came to one instance, and whose time it was: host or device. docs/analysis.md, "Lateness". */
#ifndef ANALYSIS_LATENESS_H
#define ANALYSIS_LATENESS_H

#include "analysis/instances.h"
#include "analysis/job.h"

/* Differences below this are noise of the sampling of the GPU page (2 ms) and of the scheduler. */
#define LATENESS_NOISE_NS 4000000u

/* Judges a complete instance: start_ns, median_ns, and of its operations by_us, late_us, host_us, work_us, idle_us.
 * Each instance once, in order of completion. */
void lateness_judge(struct job *job, struct instance *instance);

#endif
