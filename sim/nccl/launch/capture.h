/* SPDX-License-Identifier: MIT */
/*
 * Plans under stream capture, and plans whose events come from a host callback.
 *
 * A captured plan is a pattern: it lives as long as the graphs it was captured into, and each replay runs a copy of it.
 * A plan with work for the progress thread has its Group, Coll and P2p events started by a host function in front of
 * its kernel, because the progress thread may not know of it before: under capture at every replay, outside of it when
 * launches block or an earlier host function of the communicator has not run yet.
 */
#ifndef SIM_NCCL_LAUNCH_CAPTURE_H
#define SIM_NCCL_LAUNCH_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "sim/nccl/driver.h"

struct ncclComm;
struct plan;

/* A communicator's share. */
struct capture {
	CUstream host_stream;  /* of the host callbacks */
	CUevent order;         /* within a capture: behind the newest plan */
	CUevent host_order;    /* within a capture and for a moment outside: between host callbacks and kernels */
	CUevent host_reached;  /* recorded by graphs behind their host callbacks */
	cuuint64_t id;         /* of the newest capture that this communicator was in */
	atomic_int live_plans; /* captured ones that graphs still hold */
};

/* With the communicator's context current. close accepts one that was never opened. */
ncclResult_t capture_open(struct capture *capture);
void capture_close(struct capture *capture);

/* Whether the stream is being captured. */
bool capture_covers(CUstream stream);

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
