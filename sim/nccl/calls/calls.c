/* SPDX-License-Identifier: MIT */
/* The collective and point-to-point calls. */
#include "sim/nccl/calls/composite.h"
#include "sim/nccl/calls/export.h"
#include "sim/nccl/calls/group.h"
#include "sim/nccl/calls/operator.h"
#include "sim/nccl/calls/window.h"
#include "sim/nccl/data/number.h"
#include "sim/nccl/launch/launch.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

static ncclResult_t task_check(const struct task *task)
{
	const char *name = function_name(task->function);

	if (!number_size(task->type)) {
		log_warn("%s : invalid type %d", name, (int)task->type);
		return ncclInvalidArgument;
	}
	if (!operator_exists(task->comm, task->op)) {
		log_warn("%s : reduction operation %d unknown to this communicator", name, (int)task->op);
		return ncclInvalidArgument;
	}
	if (task->root_or_peer < 0 || task->root_or_peer >= task->comm->nranks) {
		log_warn("%s : invalid root or peer %d (root should be in the 0..%d range)", name, task->root_or_peer,
			 task->comm->nranks);
		return ncclInvalidArgument;
	}
	return ncclSuccess;
}

/* Before anything of the communicator is looked at: another thread may still be making it. */
static ncclResult_t comm_check(struct ncclComm *comm, const char *name)
{
	if (!comm) {
		log_warn("%s : comm argument is NULL", name);
		return ncclInvalidArgument;
	}
	if (comm->revoked || atomic_load(&comm->stop)) {
		log_warn("%s: communicator was %s", name, comm->revoked ? "revoked" : "aborted");
		return ncclInvalidUsage;
	}
	return comm_ready(comm);
}

/* A single rank only copies, or multiplies; profilers hear nothing of it, as in NCCL. */
static ncclResult_t do_alone(const struct task *task)
{
	size_t bytes = task->count * number_size(task->type);

	if (task->factor.used)
		return launch_alone(task);
	if (task->send == task->recv)
		return ncclSuccess;
	return DRIVER(cuMemcpyAsync, (CUdeviceptr)(uintptr_t)task->recv, (CUdeviceptr)(uintptr_t)task->send, bytes,
		      task->stream);
}

static ncclResult_t collective_enqueue(struct task *task)
{
	if (!task->count)
		return ncclSuccess;
	ncclResult_t result = operator_factor(task->comm, task->op, task->type, &task->factor);
	if (result != ncclSuccess)
		return result;
	if (task->comm->nranks == 1)
		return do_alone(task);
	task->kind = window_task_kind(task);
	if (composite_is(task->function) && task->kind == TASK_CLASSIC)
		return composite_add(task);
	return group_add_task(task);
}

static ncclResult_t task_enqueue(struct task *task)
{
	ncclResult_t result = task_check(task);

	if (result != ncclSuccess)
		return result;
	return task_is_p2p(task) ? group_add_task(task) : collective_enqueue(task);
}

/* An abort on another thread waits until this call has left the communicator. */
static ncclResult_t enqueue(struct task task)
{
	struct ncclComm *comm = task.comm;
	ncclResult_t result = comm_check(comm, function_name(task.function));

	group_enter();
	if (result != ncclSuccess)
		return group_leave_with(result, NULL);
	comm_plan_started(comm);
	result = group_leave_with(task_enqueue(&task), comm);
	comm_plan_done(comm);
	return result;
}

/* In a call whose arguments have these names. */
#define ENQUEUE(FUNCTION, COUNT, ...) \
	enqueue((struct task){ \
	    .function = FUNCTION, .count = COUNT, .type = type, .comm = comm, .stream = stream, __VA_ARGS__ })

ncclResult_t pncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
			    ncclComm_t comm, cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_ALLREDUCE, count, .send = send, .recv = recv, .op = op);
}
EXPORT_WEAK(AllReduce);

ncclResult_t pncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
			 ncclComm_t comm, cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_REDUCE, count, .send = send, .recv = recv, .op = op, .root_or_peer = root);
}
EXPORT_WEAK(Reduce);

ncclResult_t pncclReduceScatter(const void *send, void *recv, size_t recvcount, ncclDataType_t type, ncclRedOp_t op,
				ncclComm_t comm, cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_REDUCESCATTER, recvcount, .send = send, .recv = recv, .op = op);
}
EXPORT_WEAK(ReduceScatter);

ncclResult_t pncclAllGather(const void *send, void *recv, size_t sendcount, ncclDataType_t type, ncclComm_t comm,
			    cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_ALLGATHER, sendcount, .send = send, .recv = recv);
}
EXPORT_WEAK(AllGather);

ncclResult_t pncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			    cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_BROADCAST, count, .send = send, .recv = recv, .root_or_peer = root);
}
EXPORT_WEAK(Broadcast);

/* Through the public name, as in NCCL: whoever replaced ncclBroadcast sees this, too. */
ncclResult_t pncclBcast(void *buff, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
{
	return ncclBroadcast(buff, buff, count, type, root, comm, stream);
}
EXPORT_WEAK(Bcast);

ncclResult_t pncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
		       cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_SEND, count, .send = send, .root_or_peer = peer);
}
EXPORT_WEAK(Send);

ncclResult_t pncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
	return ENQUEUE(FUNCTION_RECV, count, .recv = recv, .root_or_peer = peer);
}
EXPORT_WEAK(Recv);

ncclResult_t pncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
			   cudaStream_t stream)
{
	ncclResult_t result = release_offers(CALLS_2_28, "ncclAlltoAll");

	return result != ncclSuccess ? result : ENQUEUE(FUNCTION_ALLTOALL, count, .send = send, .recv = recv);
}
EXPORT_WEAK(AlltoAll);

ncclResult_t pncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			 cudaStream_t stream)
{
	ncclResult_t result = release_offers(CALLS_2_28, "ncclGather");

	return result != ncclSuccess
		   ? result
		   : ENQUEUE(FUNCTION_GATHER, count, .send = send, .recv = recv, .root_or_peer = root);
}
EXPORT_WEAK(Gather);

ncclResult_t pncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
			  cudaStream_t stream)
{
	ncclResult_t result = release_offers(CALLS_2_28, "ncclScatter");

	return result != ncclSuccess
		   ? result
		   : ENQUEUE(FUNCTION_SCATTER, count, .send = send, .recv = recv, .root_or_peer = root);
}
EXPORT_WEAK(Scatter);
