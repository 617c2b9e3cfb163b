/* SPDX-License-Identifier: MIT */
/* How the memory of a process's GPU went, as it is kept in the process's black box: rankwatch/gpu_memory.h. */
#ifndef ANALYSIS_REPORT_GPU_RECORD_H
#define ANALYSIS_REPORT_GPU_RECORD_H

#include <rankwatch/gpu_memory.h>

#include "analysis/analysis.h"

/* What has been told so far of the memory of the process's first GPU that anything is known of. The numbers of the
 * record are the caller's. False: nothing is known, or no such process. */
bool gpu_record_take(const struct analysis *analysis, analysis_process_id process, struct rw_gpu_memory *record);
/* The other way, before anything else is told of that GPU's memory: from a box that was read. 0, -EINVAL: no such
 * process or device, or the record is not in order of time; -ENOMEM. More is known already: 0, and nothing happens. */
int gpu_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_gpu_memory *record);

#endif
