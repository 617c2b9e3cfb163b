/* SPDX-License-Identifier: MIT */
/* Brings the plans of a group onto their streams, in NCCL's order of launches, waits and profiler events. */
#ifndef SIM_NCCL_LAUNCH_LAUNCH_H
#define SIM_NCCL_LAUNCH_LAUNCH_H

#include "sim/nccl/launch/plan.h"

/* Gives the progress thread what the plan means for it; between the start and the stop of the plan's events. */
void launch_hand_to_proxy(struct plan *plan);
/* Takes the list over. */
ncclResult_t launch_plans(struct plan *plans);
/* Launches a copy of the task at once, without events: profilers hear nothing of a single rank. */
ncclResult_t launch_alone(const struct task *task);

#endif
