/* SPDX-License-Identifier: MIT */
/* Findings about the GPUs that ranks run on, whoever is late: docs/gpu-health.md. */
#ifndef ANALYSIS_MACHINE_GPU_FINDING_H
#define ANALYSIS_MACHINE_GPU_FINDING_H

#include <stdint.h>

struct analysis;

#define GPU_THROTTLE_NS   10000000000u  /* held back by its hardware so long */
#define GPU_XID_KEEP_NS   600000000000u /* an Xid that is not critical is told for so long */
#define GPU_XID_BEFORE_NS 60000000000u  /* Xids from before the rank's box was made, by more than this, are history */
#define GPU_NVLINK_MIN    100           /* errors within a minute */
#define GPU_SILENCE_NS    30000000000u  /* NVML has been in one call for so long */

/* Opens, updates and closes findings of kind gpu and memory. */
void gpu_finding_tick(struct analysis *analysis, uint64_t now_ns);
/* Xids of the ranks' GPUs since a minute before their boxes were made, as far as they are kept. */
uint32_t gpu_finding_xids(const struct analysis *analysis);

#endif
