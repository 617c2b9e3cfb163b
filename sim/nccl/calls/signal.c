/* SPDX-License-Identifier: MIT */
/*
 * ncclSignal and ncclWaitSignal: no profiler hears of them. Both are in stream order, and a wait holds its stream up
 * until the signals have come or the communicator is stopped. ncclPutSignal would have to write into another process's
 * memory, which nobody shares here.
 */
#include <stdlib.h>
#include <unistd.h>

#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/comm/comm.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

enum { POLL_US = 200 };

struct signal {
	struct ncclComm *comm;
	int peer;
	uint32_t least; /* a wait: so many must have come, since the communicator was made */
};

/* From one rank to another. */
static _Atomic uint32_t *arrived(struct ncclComm *comm, int from, int to)
{
	return &comm->segment.shared->signals[to][from];
}

static void send_now(void *argument)
{
	struct signal *signal = argument;

	atomic_fetch_add(arrived(signal->comm, signal->comm->rank, signal->peer), 1);
	comm_plan_done(signal->comm);
	free(signal);
}

static void wait_now(void *argument)
{
	struct signal *signal = argument;

	while ((int32_t)(atomic_load(arrived(signal->comm, signal->peer, signal->comm->rank)) - signal->least) < 0 &&
	       !atomic_load(&signal->comm->stop))
		usleep(POLL_US);
	comm_plan_done(signal->comm);
	free(signal);
}

static ncclResult_t enqueue(const struct signal *what, CUstream stream, void (*run)(void *argument))
{
	struct signal *signal = malloc(sizeof(*signal));

	if (!signal)
		return ncclSystemError;
	*signal = *what;
	comm_plan_started(signal->comm);
	ncclResult_t result = DRIVER(cuLaunchHostFunc, stream, run, signal);
	if (result == ncclSuccess)
		return ncclSuccess;
	comm_plan_done(signal->comm);
	free(signal);
	return result;
}

static ncclResult_t check(struct ncclComm *comm, const char *call)
{
	ncclResult_t result = release_offers(CALLS_2_29, call);

	if (result != ncclSuccess)
		return result;
	return comm ? comm_ready(comm) : ncclInvalidArgument;
}

static bool is_rank(const struct ncclComm *comm, int peer, int index, int context)
{
	return peer >= 0 && peer < comm->nranks && index == 0 && context == 0;
}

ncclResult_t pncclPutSignal(const void *from, size_t count, ncclDataType_t type, int peer, ncclWindow_t window,
			    size_t offset, int index, int context, unsigned int flags, ncclComm_t comm,
			    cudaStream_t stream)
{
	(void)from, (void)count, (void)type, (void)peer, (void)window, (void)offset, (void)index, (void)context,
	    (void)flags, (void)stream;
	ncclResult_t result = check(comm, "ncclPutSignal");
	if (result == ncclSuccess)
		log_warn("ncclPutSignal : the stand-in cannot write into the memory of another rank");
	return result == ncclSuccess ? ncclInvalidUsage : result;
}
EXPORT_WEAK(PutSignal);

ncclResult_t pncclSignal(int peer, int index, int context, unsigned int flags, ncclComm_t comm, cudaStream_t stream)
{
	ncclResult_t result = check(comm, "ncclSignal");

	(void)flags;
	if (result != ncclSuccess)
		return result;
	if (!is_rank(comm, peer, index, context))
		return ncclInvalidArgument;
	return enqueue(&(struct signal){ comm, peer, 0 }, stream, send_now);
}
EXPORT_WEAK(Signal);

ncclResult_t pncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm, cudaStream_t stream)
{
	ncclResult_t result = check(comm, "ncclWaitSignal");

	for (int i = 0; i < count && result == ncclSuccess; i++) {
		const ncclWaitSignalDesc_t *one = &signals[i];
		if (!is_rank(comm, one->peer, one->sigIdx, one->ctx) || one->opCnt < 0)
			return ncclInvalidArgument;
		comm->signals_awaited[one->peer] += (uint32_t)one->opCnt;
		result =
		    enqueue(&(struct signal){ comm, one->peer, comm->signals_awaited[one->peer] }, stream, wait_now);
	}
	return result;
}
EXPORT_WEAK(WaitSignal);
