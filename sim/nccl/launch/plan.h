/* SPDX-License-Identifier: MIT */
/*
 * Tasks are the calls of a group; those of one communicator in one group are collected in a plan, which is split into
 * as many as NCCL would launch: each is one kernel.
 */
#ifndef SIM_NCCL_LAUNCH_PLAN_H
#define SIM_NCCL_LAUNCH_PLAN_H

#include "sim/nccl/comm/comm.h"
#include "sim/nccl/data/number.h"

#define PLAN_CHANNELS_MAX 8

/* How NCCL would run the call; the stand-in moves the data in its one way, profilers hear what NCCL reports to them. */
enum task_kind {
	TASK_CLASSIC,
	TASK_SYMMETRIC,  /* both buffers in symmetric windows: a symmetric kernel */
	TASK_COPY_ENGINE /* so, and the communicator's CTA policy is ZERO: no kernel at all */
};

/* Handles are what the profiler plugin wrote; they are passed back untouched. */
struct task {
	struct task *next;
	struct ncclComm *comm;
	enum function function;
	enum task_kind kind;
	const void *send;
	void *recv;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	struct factor factor; /* of op; copied, for op may be destroyed before the launch */
	int root_or_peer;
	CUstream stream;
	uint8_t channels, first_channel;
	int round; /* p2p: of the schedule */
	bool gathered; /* a Broadcast that NCCL makes part of an AllGatherV, of which a profiler hears nothing */
	int work;  /* p2p: a send and a receive of one round share one */
	uint16_t
	    batches[PLAN_CHANNELS_MAX]; /* p2p: the place of the work on each channel, by NCCL's batches of works */
	uint64_t works[PLAN_CHANNELS_MAX]; /* the numbers of its works: work_count.h */
	size_t moved;                   /* p2p: bytes so far */
	int event_mask;                 /* as it was at the call */
	uint64_t user_tag;              /* the same */
	void *group_api_handle, *api_handle, *handle;
};

struct plan {
	struct plan *next;       /* another communicator's, of the same group */
	struct plan *more;       /* the same communicator's next, of the same group: see split.h */
	struct plan *unlaunched; /* of the first of them: the first that is not launched */
	struct ncclComm *comm;
	atomic_uint references; /* the launching thread, the kernel, the proxy */
	struct task *collectives, *p2p;
	CUstream *streams; /* distinct, in order of their first use; the last one launches */
	size_t stream_count;
	bool channel_events;                /* some task has KernelCh events */
	bool host_events;                   /* a host callback starts its events, see capture.h */
	cuuint64_t capture_id;              /* of the capture that it is a pattern in; 0: none */
	CUgraph graph;                      /* of that capture, while it lasts */
	struct plan *replays;               /* copies whose kernel has not run yet, oldest first; under comm->lock */
	_Atomic uint64_t start_ns, stop_ns; /* CLOCK_REALTIME, as %globaltimer; 0 = not yet */
	void *group_handle, *launch_handle;
};

struct plan *plan_new(struct ncclComm *comm);
void plan_drop(struct plan *plan);
/* Takes a heap copy of the task. ncclSystemError: out of memory. */
ncclResult_t plan_add(struct plan *plan, const struct task *task);
/* Bytes that cross the links for this task, up to a factor that all functions share. */
size_t task_traffic(const struct task *task);
/* One that launches on the same streams; NULL: out of memory. */
struct plan *plan_beside(const struct plan *plan);
/* At the end of the collectives or of the sends and receives. */
void plan_append(struct plan *plan, struct task *task);

static inline bool task_is_p2p(const struct task *task)
{
	return task->function == FUNCTION_SEND || task->function == FUNCTION_RECV;
}

/* To and from the own rank, which no channel and no proxy hears of. */
static inline bool task_is_own(const struct task *task)
{
	return task_is_p2p(task) && task->root_or_peer == task->comm->rank;
}

static inline bool plan_is_empty(const struct plan *plan)
{
	return !plan->collectives && !plan->p2p;
}

static inline CUstream plan_launch_stream(const struct plan *plan)
{
	return plan->streams[plan->stream_count - 1];
}

#endif
