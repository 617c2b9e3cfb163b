/* SPDX-License-Identifier: MIT */
/* What the summary says of the memory in use on the GPUs of the job. */
#ifndef ANALYSIS_VIEW_GPU_MEMORY_H
#define ANALYSIS_VIEW_GPU_MEMORY_H

#include "analysis/analysis.h"

/* Chooses, of the GPUs of the job's ranks, the one that is full soonest or has warmed up by most;
 * ANALYSIS_MEMORY_UNKNOWN: there is nothing to be said. */
void gpu_memory_tell(const struct analysis *analysis, struct analysis_gpu_memory *told);

#endif
