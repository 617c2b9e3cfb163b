/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/collective.h"

#include <stdlib.h>

#include "sim/workload/training/gpu.h"

static struct {
	void (*function)(void *argument, const struct collective_call *call);
	void *argument;
} hook;

static struct collective_watch watch;

/* Those of the group that is open: their data are there when it has ended. */
static struct {
	struct collective_call *calls;
	size_t count, room;
} receiving;

void collective_set_hook(void (*function)(void *argument, const struct collective_call *call), void *argument)
{
	hook.function = function;
	hook.argument = argument;
}

void collective_set_watch(const struct collective_watch *chosen)
{
	watch = chosen ? *chosen : (struct collective_watch){ 0 };
}

size_t collective_send_count(const struct collective_call *call)
{
	return call->function == COLLECTIVE_REDUCE_SCATTER ? call->count * call->group->size : call->count;
}

size_t collective_recv_count(const struct collective_call *call)
{
	return call->function == COLLECTIVE_ALL_GATHER ? call->count * call->group->size : call->count;
}

static ncclResult_t enqueue(const struct collective_call *call)
{
	ncclComm_t comm = process_group_comm(call->group);
	void *send = (void *)call->send, *recv = (void *)call->recv;

	switch (call->function) {
	case COLLECTIVE_ALL_GATHER:
		return ncclAllGather(send, recv, call->count, call->type, comm, call->stream);
	case COLLECTIVE_REDUCE_SCATTER:
		return ncclReduceScatter(send, recv, call->count, call->type, call->op, comm, call->stream);
	case COLLECTIVE_ALL_REDUCE:
		return ncclAllReduce(send, recv, call->count, call->type, call->op, comm, call->stream);
	case COLLECTIVE_BROADCAST:
		return ncclBroadcast(send, recv, call->count, call->type, call->root, comm, call->stream);
	case COLLECTIVE_SEND:
		return ncclSend(send, call->count, call->type, call->root, comm, call->stream);
	case COLLECTIVE_RECV:
		return ncclRecv(recv, call->count, call->type, call->root, comm, call->stream);
	}
	return ncclInvalidArgument;
}

static void receive_later(const struct collective_call *call)
{
	if (receiving.count == receiving.room) {
		receiving.room = receiving.room ? 2 * receiving.room : 16;
		receiving.calls = realloc(receiving.calls, receiving.room * sizeof(*receiving.calls));
		GPU_CHECK(receiving.calls ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	}
	receiving.calls[receiving.count++] = *call;
}

void collective_issue(const struct collective_call *call)
{
	if (watch.sending && call->function != COLLECTIVE_RECV)
		watch.sending(watch.argument, call);
	NCCL_CHECK(enqueue(call));
	if (watch.received && call->function == COLLECTIVE_RECV)
		receive_later(call);
	else if (watch.received && call->function != COLLECTIVE_SEND)
		watch.received(watch.argument, call);
}

static void request(const struct collective_call *call)
{
	if (hook.function)
		hook.function(hook.argument, call);
	else
		collective_issue(call);
}

void collective_all_gather(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, CUstream stream)
{
	request(&(struct collective_call){ COLLECTIVE_ALL_GATHER, group, send, recv, count, type, .stream = stream });
}

void collective_reduce_scatter(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			       ncclDataType_t type, CUstream stream)
{
	request(&(struct collective_call){ COLLECTIVE_REDUCE_SCATTER, group, send, recv, count, type, .op = ncclSum,
					   .stream = stream });
}

void collective_all_reduce(struct process_group *group, CUdeviceptr send, CUdeviceptr recv, size_t count,
			   ncclDataType_t type, ncclRedOp_t op, CUstream stream)
{
	request(&(struct collective_call){ COLLECTIVE_ALL_REDUCE, group, send, recv, count, type, .op = op,
					   .stream = stream });
}

void collective_start(struct process_group *group)
{
	process_group_comm(group); /* which may have to be made, and not within a group */
	NCCL_CHECK(ncclGroupStart());
}

void collective_send(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream)
{
	collective_issue(&(struct collective_call){ COLLECTIVE_SEND, group, .send = data, .count = count, .type = type,
						    .root = peer, .stream = stream });
}

void collective_recv(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream)
{
	collective_issue(&(struct collective_call){ COLLECTIVE_RECV, group, .recv = data, .count = count, .type = type,
						    .root = peer, .stream = stream });
}

void collective_end(void)
{
	NCCL_CHECK(ncclGroupEnd());
	for (size_t i = 0; i < receiving.count; i++)
		watch.received(watch.argument, &receiving.calls[i]);
	receiving.count = 0;
}
