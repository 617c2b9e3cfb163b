/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program has registered with a communicator. Nothing moves in another way because of it: it decides how
 * NCCL would run a call, which is what profilers hear of.
 */
#ifndef SIM_NCCL_CALLS_WINDOW_H
#define SIM_NCCL_CALLS_WINDOW_H

#include "sim/nccl/launch/plan.h"

/* NCCL's choice between its kernels and the copy engine, as far as it does not depend on hardware. */
enum task_kind window_task_kind(const struct task *task);

#endif
