/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/plan.h"

#include <stdlib.h>

struct plan *plan_new(struct ncclComm *comm)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (plan) {
		plan->comm = comm;
		atomic_init(&plan->references, 1);
	}
	return plan;
}

static void tasks_free(struct task *task)
{
	while (task) {
		struct task *next = task->next;
		free(task);
		task = next;
	}
}

void plan_drop(struct plan *plan)
{
	if (atomic_fetch_sub(&plan->references, 1) > 1)
		return;
	tasks_free(plan->collectives);
	tasks_free(plan->p2p);
	free(plan->streams);
	free(plan);
}

static ncclResult_t plan_add_stream(struct plan *plan, CUstream stream)
{
	for (size_t i = 0; i < plan->stream_count; i++) {
		if (plan->streams[i] == stream)
			return ncclSuccess;
	}
	CUstream *grown = realloc(plan->streams, (plan->stream_count + 1) * sizeof(*grown));
	if (!grown)
		return ncclSystemError;
	plan->streams = grown;
	plan->streams[plan->stream_count++] = stream;
	return ncclSuccess;
}

void plan_append(struct plan *plan, struct task *task)
{
	struct task **at = task_is_p2p(task) ? &plan->p2p : &plan->collectives;

	while (*at)
		at = &(*at)->next;
	*at = task;
	task->next = NULL;
}

struct plan *plan_beside(const struct plan *plan)
{
	struct plan *beside = plan_new(plan->comm);

	for (size_t i = 0; beside && i < plan->stream_count; i++) {
		if (plan_add_stream(beside, plan->streams[i]) == ncclSuccess)
			continue;
		plan_drop(beside);
		beside = NULL;
	}
	return beside;
}

ncclResult_t plan_add(struct plan *plan, const struct task *task)
{
	struct task *copy = malloc(sizeof(*copy));

	if (!copy || plan_add_stream(plan, task->stream) != ncclSuccess) {
		free(copy);
		return ncclSystemError;
	}
	*copy = *task;
	plan_append(plan, copy);
	return ncclSuccess;
}

size_t task_traffic(const struct task *task)
{
	size_t bytes = task->count * number_size(task->type);

	switch (task->function) {
	case FUNCTION_ALLREDUCE:
		return 2 * bytes;
	case FUNCTION_ALLGATHER:
	case FUNCTION_REDUCESCATTER:
		return bytes * (size_t)task->comm->nranks;
	default:
		return bytes;
	}
}
