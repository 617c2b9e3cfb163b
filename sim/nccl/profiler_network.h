/* SPDX-License-Identifier: MIT */
/* What a profiler hears of the network: ProxyOp, ProxyStep and ProxyCtrl, all on the progress thread. */
#ifndef SIM_NCCL_PROFILER_NETWORK_H
#define SIM_NCCL_PROFILER_NETWORK_H

#include "profiler_abi.h"
#include "transfer.h"

/* On the launching thread, behind the start of the task's event: what the transfer's events need of it. */
void profiler_transfer_take(struct transfer *transfer, const struct task *task);

void profiler_transfer_start(struct transfer *transfer);
void profiler_transfer_progress(struct transfer *transfer);
void profiler_transfer_stop(struct transfer *transfer);
void profiler_step_start(struct transfer *transfer, int step);
void profiler_step_state(struct transfer *transfer, int step, int state, size_t bytes);
void profiler_step_stop(struct transfer *transfer, int step);

#endif
