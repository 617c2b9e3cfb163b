/* SPDX-License-Identifier: MIT */
/* Brings the plans of a group onto their streams, in NCCL's order of launches, waits and profiler events. */
#ifndef SIM_NCCL_LAUNCH_H
#define SIM_NCCL_LAUNCH_H

#include "plan.h"

/* Takes the list over. */
ncclResult_t launch_plans(struct plan *plans);

#endif
