/* SPDX-License-Identifier: MIT */
/*
 * Plans under stream capture, and plans whose events come from a host callback.
 *
 * A captured plan is a pattern: it lives as long as the graphs it was captured into, and each replay runs a copy of it.
 * A plan with work for the progress thread has its Group, Coll and P2p events started by a host function in front of
 * its kernel, because the progress thread may not know of it before: under capture at every replay, outside of it when
 * launches block or an earlier host function of the communicator has not run yet.
 */
#ifndef SIM_NCCL_LAUNCH_CAPTURE_PLAN_H
#define SIM_NCCL_LAUNCH_CAPTURE_PLAN_H

#include "sim/nccl/launch/plan.h"

/*
 * The steps of launching the plans of one group, before their kernels: whether their streams are captured, together
 * (ncclInvalidUsage: only some of them are, or by different captures), and who starts the events of each.
 */
ncclResult_t capture_look(struct plan *plan);
/* Brings captured plans behind the communicator's earlier ones. */
ncclResult_t capture_prepare(struct plan *plan);
/* Keeps one captured plan for the graph. */
ncclResult_t capture_keep(struct plan *plan);
/* Behind the kernels of captured plans. */
ncclResult_t capture_finish(struct plan *plan);
/* Enqueues the host callback of a plan whose events it starts, in front of the kernel. */
ncclResult_t capture_enqueue_callback(struct plan *plan);

/* What a kernel runs for the plan that it was launched with: that one, or a replay's copy. NULL: out of memory. On the
 * stream's thread. */
struct plan *capture_plan_to_run(struct plan *plan);

#endif
