/* SPDX-License-Identifier: MIT */
/*
 * When the profiler plugin is called, and with what: the order and threads of the release (release.h). Every function
 * does nothing when no plugin is loaded or its mask does not ask for the event.
 */
#ifndef SIM_NCCL_PROFILER_PROFILER_H
#define SIM_NCCL_PROFILER_PROFILER_H

#include "sim/nccl/launch/plan.h"

/* Loads the plugin for the first communicator of the process and calls its init. */
void profiler_attach(struct ncclComm *comm);
/* Calls finalize and gives one use of the library back, as NCCL does even when profiler_attach was never reached. */
void profiler_detach(struct ncclComm *comm);

/* On the calling thread, in this order. */
void profiler_api_start(struct task *task, int group_depth); /* GroupApi once in a group; CollApi or P2pApi */
void profiler_api_stop(const struct task *task);
void profiler_group_end_start(void);
/* Around the launch: KernelLaunch, and CeColl with its children for what runs on the copy engine. */
void profiler_launch_start(struct plan *plan);
void profiler_launch_stop(struct plan *plan);
/* Group, Coll and P2p: start all, call launched, stop all. */
void profiler_plan_events(struct plan *plan, void (*launched)(struct plan *plan));
void profiler_group_api_stop(void);

/* Whether the task's KernelCh events are wanted. */
bool profiler_wants_channels(const struct task *task);
/* Whether a Broadcast is a task that it hears nothing of but the call. */
bool profiler_hides_broadcasts(void);
/* On the progress thread. The handle stays as it is where the plugin writes none. */
void profiler_channel_start(const struct task *task, uint8_t channel, void **handle, uint64_t start_ns);
void profiler_channel_stop(const struct task *task, uint8_t channel, void *handle, uint64_t start_ns, uint64_t stop_ns);

#endif
