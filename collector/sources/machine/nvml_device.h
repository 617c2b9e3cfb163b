/* SPDX-License-Identifier: MIT */
/* One GPU as NVML shows it. */
#ifndef COLLECTOR_SOURCES_MACHINE_NVML_DEVICE_H
#define COLLECTOR_SOURCES_MACHINE_NVML_DEVICE_H

#include "analysis/analysis.h"
#include "collector/sources/machine/nvml_library.h"

struct nvml_gpu {
	nvml_device handle;
	struct analysis_gpu_state state; /* the last that was read */
};

/* 0 or an nvml_result. */
int nvml_gpu_open(struct nvml_gpu *gpu, const struct nvml_library *nvml, unsigned int index);
/* Clocks, temperature, power and memory; with `slow` also the error counters, which cost more. Fills gpu->state, at_ns
 * too. */
void nvml_gpu_read(struct nvml_gpu *gpu, const struct nvml_library *nvml, uint64_t now_ns, bool slow);

#endif
