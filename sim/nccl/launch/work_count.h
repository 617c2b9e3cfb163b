/* SPDX-License-Identifier: MIT */
/*
 * The numbers by which NCCL finds the times of a kernel's works for KernelCh. The GPU counts the works of each channel
 * as it runs them, and notes when the last 64 began and ended. The host counts them as it plans them. A work's events
 * come as soon as the GPU's note at its place has its number or a higher one, and have that note's time. So where the
 * host falls behind, they come at once and have the time of another work: src/transport/profiler.cc,
 * profilerProxyProgress() (2.27 to 2.30), and src/device/common.h, profiler().
 *
 * Which runs the host counts: docs/stand-in.md, "Profiler plugin".
 */
#ifndef SIM_NCCL_LAUNCH_WORK_COUNT_H
#define SIM_NCCL_LAUNCH_WORK_COUNT_H

#include "sim/nccl/launch/plan.h"

/* Of one communicator; to be freed. NULL: out of memory. */
struct work_count *work_count_new(void);

/* The group's calls are planned now, on the calling thread. */
void work_count_plan(struct plan *plan);
/* The plan's work is handed to the progress thread now, at each replay again. */
void work_count_hand_over(struct plan *plan);
/* Its kernel begins and ends, at these times. */
void work_count_begin(struct plan *plan, uint64_t ns);
void work_count_end(struct plan *plan, uint64_t ns);
/* When NCCL believes that the task's work on its channel number `part` began or ended. False: not yet. */
bool work_count_has_begun(const struct task *task, int part, uint64_t *ns);
bool work_count_has_ended(const struct task *task, int part, uint64_t *ns);

#endif
