/* SPDX-License-Identifier: MIT */
#include "sim/nccl/calls/composite.h"

#include "sim/nccl/calls/group.h"
#include "sim/nccl/data/number.h"

bool composite_is(enum function function)
{
	return function == FUNCTION_ALLTOALL || function == FUNCTION_GATHER || function == FUNCTION_SCATTER;
}

static ncclResult_t add_part(const struct task *whole, enum function function, int peer, int part)
{
	size_t offset = (size_t)part * whole->count * number_size(whole->type);
	struct task task = *whole;

	task.function = function;
	task.root_or_peer = peer;
	task.send = function == FUNCTION_SEND ? (const char *)whole->send + offset : NULL;
	task.recv = function == FUNCTION_RECV ? (char *)whole->recv + offset : NULL;
	return group_add_task(&task);
}

static ncclResult_t add_all_to_all(const struct task *task)
{
	ncclResult_t result = ncclSuccess;

	for (int rank = 0; rank < task->comm->nranks && result == ncclSuccess; rank++) {
		result = add_part(task, FUNCTION_SEND, rank, rank);
		if (result == ncclSuccess)
			result = add_part(task, FUNCTION_RECV, rank, rank);
	}
	return result;
}

/* The root's side: one part from, or to, every rank. */
static ncclResult_t add_parts(const struct task *task, enum function function)
{
	ncclResult_t result = ncclSuccess;

	for (int rank = 0; rank < task->comm->nranks && result == ncclSuccess; rank++)
		result = add_part(task, function, rank, rank);
	return result;
}

static ncclResult_t add_gather(const struct task *task)
{
	ncclResult_t result = add_part(task, FUNCTION_SEND, task->root_or_peer, 0);

	if (result == ncclSuccess && task->comm->rank == task->root_or_peer)
		result = add_parts(task, FUNCTION_RECV);
	return result;
}

static ncclResult_t add_scatter(const struct task *task)
{
	ncclResult_t result = ncclSuccess;

	if (task->comm->rank == task->root_or_peer)
		result = add_parts(task, FUNCTION_SEND);
	return result == ncclSuccess ? add_part(task, FUNCTION_RECV, task->root_or_peer, 0) : result;
}

ncclResult_t composite_add(const struct task *task)
{
	switch (task->function) {
	case FUNCTION_ALLTOALL:
		return add_all_to_all(task);
	case FUNCTION_GATHER:
		return add_gather(task);
	default:
		return add_scatter(task);
	}
}
