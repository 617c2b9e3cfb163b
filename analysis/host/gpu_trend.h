/* SPDX-License-Identifier: MIT */
/* What shows only from one reading of a GPU to the next: held back for how long, errors that rise, memory in use that
 * falls again and again. */
#ifndef ANALYSIS_HOST_GPU_TREND_H
#define ANALYSIS_HOST_GPU_TREND_H

#include <stddef.h>

#include "analysis/host/gpus.h"

/* Reasons by which the hardware, or the driver to protect it, takes the clocks down. A power cap is none: under full
 * load it is usual. */
#define GPU_SLOW                                                                                                       \
	(ANALYSIS_CLOCK_HW_SLOWDOWN | ANALYSIS_CLOCK_SW_THERMAL | ANALYSIS_CLOCK_HW_THERMAL |                          \
	 ANALYSIS_CLOCK_HW_POWER_BRAKE)

#define GPU_MEMORY_HIGH      0.95         /* of the GPU's memory */
#define GPU_MEMORY_DROP      0.02         /* a fall by so much is a cache that was freed */
#define GPU_MEMORY_DROPS_NS  60000000000u /* GPU_MEMORY_DROPS falls within this time are a finding */
#define GPU_MEMORY_DROPS     3
#define GPU_NVLINK_WINDOW_NS 60000000000u

/* gpu->now is a new reading. */
void gpu_trend_account(struct gpu *gpu);
/* Falls of memory in use within GPU_MEMORY_DROPS_NS before now_ns. */
uint32_t gpu_trend_drops(const struct gpu *gpu, uint64_t now_ns);
/* "hardware thermal slowdown, power cap"; returns text. */
const char *gpu_trend_reasons(char *text, size_t room, uint32_t reasons);

#endif
