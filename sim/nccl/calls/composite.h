/* SPDX-License-Identifier: MIT */
/* AlltoAll, Gather and Scatter, which NCCL makes of sends and receives: their names are lost to profilers. */
#ifndef SIM_NCCL_CALLS_COMPOSITE_H
#define SIM_NCCL_CALLS_COMPOSITE_H

#include "sim/nccl/launch/plan.h"

bool composite_is(enum function function);
/* Adds its sends and receives, in NCCL's order, to the open group. */
ncclResult_t composite_add(const struct task *task);

#endif
