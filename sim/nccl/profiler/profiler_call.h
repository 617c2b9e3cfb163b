/* SPDX-License-Identifier: MIT */
/* For the files that make events: the one plugin of the process, if there is one. */
#ifndef SIM_NCCL_PROFILER_PROFILER_CALL_H
#define SIM_NCCL_PROFILER_PROFILER_CALL_H

#include "sim/nccl/comm/comm.h"
#include "sim/nccl/profiler/adapter.h"

bool profiler_is_loaded(void);
/* The plugin's mask as it is now; it may change at any time. */
int profiler_mask(void);

/* Fills in the communicator's name and hash. As in NCCL, *handle stays as it was when the plugin writes nothing. */
void profiler_start(const struct ncclComm *comm, void **handle, struct event *event);
/* The same in a context that may be another process's: for events that know no communicator in any version. */
void profiler_start_in(void *context, void **handle, const struct event *event);
/* Nothing for NULL. */
void profiler_stop(void *handle);
void profiler_record(void *handle, enum profiler_state state, const struct profiler_state_args *args);
/* As profiler_stop, but for NULL, too: releases with stops_null do that. */
void profiler_stop_any(void *handle);

#endif
