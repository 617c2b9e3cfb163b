/* SPDX-License-Identifier: MIT */
#include "collective.h"

static struct {
	void (*function)(void *argument, const struct collective_call *call);
	void *argument;
} hook;

void collective_set_hook(void (*function)(void *argument, const struct collective_call *call), void *argument)
{
	hook.function = function;
	hook.argument = argument;
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
	}
	return ncclInvalidArgument;
}

void collective_issue(const struct collective_call *call)
{
	NCCL_CHECK(enqueue(call));
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
	NCCL_CHECK(ncclSend((void *)data, count, type, peer, process_group_comm(group), stream));
}

void collective_recv(struct process_group *group, CUdeviceptr data, size_t count, ncclDataType_t type, int peer,
		     CUstream stream)
{
	NCCL_CHECK(ncclRecv((void *)data, count, type, peer, process_group_comm(group), stream));
}

void collective_end(void)
{
	NCCL_CHECK(ncclGroupEnd());
}
