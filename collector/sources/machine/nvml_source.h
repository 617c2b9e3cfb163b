/* SPDX-License-Identifier: MIT */
/*
 * The health of this machine's GPUs as NVML shows it, twice a second, and the Xids that it reports. NVML is called on a
 * thread of its own, because a call may block for ever on a sick GPU; the owner's thread only takes what has come.
 */
#ifndef COLLECTOR_SOURCES_MACHINE_NVML_SOURCE_H
#define COLLECTOR_SOURCES_MACHINE_NVML_SOURCE_H

#include "analysis/analysis.h"

struct nvml_source;

struct nvml_source_events {
	void (*state)(void *argument, const struct analysis_gpu_state *state);
	void (*event)(void *argument, const struct analysis_gpu_event *event);
	void *argument;
};

/* file: "libnvidia-ml.so.1". 0 or -errno with a sentence in `why` (at least 160 bytes). NVML itself is called later. */
int nvml_source_open(struct nvml_source **source, const char *file, char *why);
/* Accepts NULL. Waits at most a second for a call that NVML is in; a thread that is still in one then stays with what
 * belongs to it until the process ends. */
void nvml_source_close(struct nvml_source *source);

/* Hands over what has come since, in order of time. */
void nvml_source_poll(struct nvml_source *source, const struct nvml_source_events *events);
/* Since when NVML has been in the present call; 0: in none. */
uint64_t nvml_source_in_call_since(const struct nvml_source *source);
/* Why it has given up ("NVML: Driver Not Loaded"); "" as long as it has not. */
const char *nvml_source_why(const struct nvml_source *source);

#endif
