/* SPDX-License-Identifier: MIT */
#include "sim/nccl/profiler/profiler_ce.h"

#include "sim/nccl/data/number.h"
#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/release.h"

/* NCCL's mask is that of the moment, not of the call. */
static bool is_wanted(int bits)
{
	return profiler_is_loaded() && profiler_mask() & bits;
}

/* AllGather moves bytes, and says so. */
static void coll_start(struct task *task)
{
	uint32_t sequence = task->comm->ce_syncs;
	bool bytes = task->function == FUNCTION_ALLGATHER;
	struct event event = { .v7 = {
				   .type = EVENT_CE_COLL,
				   .parent = task->api_handle,
				   .rank = task->comm->rank,
				   .ce_coll = { .sequence = sequence,
						.function = function_name(task->function),
						.send = task->send,
						.recv = task->recv,
						.count = bytes ? task->count * number_size(task->type) : task->count,
						.root = task->root_or_peer,
						.type = number_name(bytes ? ncclInt8 : task->type),
						.strategy = "UC",
						.ce_sequence = sequence,
						.stream = task->stream,
						.user_tag = task->user_tag },
			       } };

	if (is_wanted(release()->masks->ce_coll))
		profiler_start(task->comm, &task->handle, &event);
}

/* One before the copies and one after them: every other one waits for completion. */
static void sync(struct task *task)
{
	uint32_t before = task->comm->ce_syncs++;
	struct event event = { .v7 = {
				   .type = EVENT_CE_SYNC,
				   .parent = task->handle,
				   .rank = task->comm->rank,
				   .ce_sync = { .complete = before % 2, .nranks = task->comm->nranks },
			       } };
	void *handle = NULL;

	if (task->handle && is_wanted(release()->masks->ce_sync))
		profiler_start(task->comm, &handle, &event);
	profiler_stop(handle);
}

static void batch(struct task *task)
{
	size_t bytes = task->count * number_size(task->type);
	struct event event = { .v7 = {
				   .type = EVENT_CE_BATCH,
				   .parent = task->handle,
				   .rank = task->comm->rank,
				   .ce_batch = { .operations = task->comm->nranks,
						 .bytes = bytes * (size_t)task->comm->nranks },
			       } };
	void *handle = NULL;

	if (task->handle && is_wanted(release()->masks->ce_batch))
		profiler_start(task->comm, &handle, &event);
	profiler_stop(handle);
}

void profiler_ce_start(struct plan *plan)
{
	for (struct task *task = plan->collectives; task; task = task->next) {
		if (task->kind != TASK_COPY_ENGINE)
			continue;
		coll_start(task);
		sync(task);
		batch(task);
		sync(task);
	}
}

void profiler_ce_stop(struct plan *plan)
{
	for (struct task *task = plan->collectives; task; task = task->next) {
		if (task->kind != TASK_COPY_ENGINE)
			continue;
		profiler_stop(task->handle);
		task->handle = NULL;
	}
}
