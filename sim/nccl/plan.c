/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <stdlib.h>

#include "log.h"
#include "number.h"
#include "quirk.h"

#define BYTES_PER_CHANNEL (64u << 10)

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
		free(task->channel_handles);
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

static void append(struct task **list, struct task *task)
{
	while (*list)
		list = &(*list)->next;
	*list = task;
}

ncclResult_t plan_add(struct plan *plan, const struct task *task)
{
	struct task *copy = malloc(sizeof(*copy));

	if (!copy || plan_add_stream(plan, task->stream) != ncclSuccess) {
		free(copy);
		return ncclSystemError;
	}
	*copy = *task;
	copy->next = NULL;
	append(task_is_p2p(task) ? &plan->p2p : &plan->collectives, copy);
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

static struct task *next_with_self(struct task *task, enum function function)
{
	while (task && (task->function != function || task->root_or_peer != task->comm->rank))
		task = task->next;
	return task;
}

static void take_out_in_place(struct task **at)
{
	while (*at) {
		struct task *task = *at;
		if (task->in_place) {
			*at = task->next;
			free(task);
		} else {
			at = &task->next;
		}
	}
}

ncclResult_t plan_pair_self(struct plan *plan)
{
	struct task *send = next_with_self(plan->p2p, FUNCTION_SEND);
	struct task *recv = next_with_self(plan->p2p, FUNCTION_RECV);

	while (send && recv) {
		send->in_place = recv->in_place = send->send == recv->recv;
		send = next_with_self(send->next, FUNCTION_SEND);
		recv = next_with_self(recv->next, FUNCTION_RECV);
	}
	if (send || recv) {
		log_warn("Trying to %s to self without a matching %s", send ? "send" : "recv", send ? "recv" : "send");
		return ncclInvalidUsage;
	}
	take_out_in_place(&plan->p2p);
	return ncclSuccess;
}

static void set_channels(struct task *task)
{
	size_t channels = task->count * number_size(task->type) / BYTES_PER_CHANNEL + 1;

	task->channels = (uint8_t)(channels < PLAN_CHANNELS_MAX ? channels : PLAN_CHANNELS_MAX);
}

static void insert_by_traffic(struct task **list, struct task *task)
{
	while (*list && task_traffic(*list) >= task_traffic(task))
		list = &(*list)->next;
	task->next = *list;
	*list = task;
}

void plan_sort(struct plan *plan)
{
	struct task *sorted = NULL;

	while (plan->collectives) {
		struct task *task = plan->collectives;
		plan->collectives = task->next;
		set_channels(task);
		insert_by_traffic(&sorted, task);
	}
	plan->collectives = sorted;
	for (struct task *task = plan->p2p; task; task = task->next) {
		set_channels(task);
		if (quirk_is_on(QUIRK_FEWER_CHANNELS) && task->channels == 1)
			task->channels = 2; /* announced; profiler_channel.c says which run */
	}
}
