/* SPDX-License-Identifier: MIT */
/* CeColl, CeSync and CeBatch: collectives that run on the copy engine, without a kernel. */
#ifndef SIM_NCCL_PROFILER_PROFILER_CE_H
#define SIM_NCCL_PROFILER_PROFILER_CE_H

#include "sim/nccl/launch/plan.h"

/* Before the work of a plan is submitted: CeColl starts, with its children, for each of its copy-engine tasks. */
void profiler_ce_start(struct plan *plan);
void profiler_ce_stop(struct plan *plan);

#endif
