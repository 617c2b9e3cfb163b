/* SPDX-License-Identifier: MIT */
/*
 * One communicator's calls of one group become plans, which are launched one after the other: each collective of the
 * copy engine alone, symmetric ones of a kind together, then everything else, as much as the arguments of one kernel
 * and half of NCCL's buffer for more of them hold.
 */
#ifndef SIM_NCCL_LAUNCH_SPLIT_H
#define SIM_NCCL_LAUNCH_SPLIT_H

#include "sim/nccl/launch/plan.h"

/* Brings the collected calls into order, and hangs the plans behind the first one. On failure the plan owns them still.
 */
ncclResult_t split_plan(struct plan *plan);

#endif
