/* SPDX-License-Identifier: MIT */
/* GroupApi, CollApi and P2pApi: what the calling thread does before anything is launched. */
#include "sim/nccl/profiler/profiler.h"

#include <stdlib.h>
#include <string.h>

#include "sim/nccl/calls/user_tag.h"
#include "sim/nccl/data/number.h"
#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/release.h"

/* As in NCCL, the handle of CollApi is never cleared: a start that does not write leaves the previous one. */
static _Thread_local struct {
	int mask;
	bool in_group;
	void *group_handle, *coll_handle, *p2p_handle;
} api;

static void group_api_start(const struct task *task, int depth)
{
	api.mask = profiler_mask();
	if (api.in_group || !profiler_is_loaded() || !(api.mask & release()->masks->group_api))
		return;
	struct event event = { .v7 = { .type = EVENT_GROUP_API,
				       .group_api = { .captured = capture_covers(task->stream), .depth = depth } } };
	api.in_group = true;
	profiler_start(task->comm, &api.group_handle, &event);
	profiler_record(api.group_handle, STATE_GROUP_START_API_STOP, NULL);
}

void profiler_group_end_start(void)
{
	if (api.in_group)
		profiler_record(api.group_handle, STATE_GROUP_END_API_START, NULL);
}

void profiler_group_api_stop(void)
{
	if (api.in_group)
		profiler_stop(api.group_handle);
	api.group_handle = NULL;
	api.in_group = false;
}

static void coll_api_start(const struct task *task)
{
	struct event event = { .v7 = {
				   .type = EVENT_COLL_API,
				   .parent = task->group_api_handle,
				   .coll_api = { .function = function_name(task->function),
						 .count = task->count,
						 .type = number_name(task->type),
						 .root = task->root_or_peer,
						 .stream = task->stream,
						 .captured = capture_covers(task->stream),
						 .user_tag = task->user_tag },
			       } };

	profiler_start(task->comm, &api.coll_handle, &event);
}

static void p2p_api_start(const struct task *task)
{
	struct event event = { .v7 = {
				   .type = EVENT_P2P_API,
				   .parent = task->group_api_handle,
				   .p2p_api = { .function = function_name(task->function),
						.count = task->count,
						.type = number_name(task->type),
						.stream = task->stream,
						.captured = capture_covers(task->stream),
						.user_tag = task->user_tag },
			       } };

	profiler_start(task->comm, &api.p2p_handle, &event);
}

bool profiler_hides_broadcasts(void)
{
	const char *text = getenv("NCCL_ALLGATHERV_ENABLE");

	return release()->broadcast_task && !(text && strcmp(text, "0") == 0);
}

/* NCCL keeps no mask with these tasks: nothing but CollApi is heard of them. */
static bool is_hidden(const struct task *task)
{
	switch (task->kind) {
	case TASK_SYMMETRIC:
		return release()->symmetric != EVENTS_WHOLE;
	case TASK_COPY_ENGINE:
		return true;
	default:
		return task->function == FUNCTION_BROADCAST && profiler_hides_broadcasts();
	}
}

void profiler_api_start(struct task *task, int group_depth)
{
	const struct release_masks *masks = release()->masks;
	bool p2p = task_is_p2p(task);

	task->event_mask = 0;
	task->user_tag = user_tag();
	task->api_handle = NULL;
	if (task->kind == TASK_COPY_ENGINE && release()->copy_engine == EVENTS_NONE)
		return;
	group_api_start(task, group_depth);
	task->group_api_handle = api.group_handle;
	if (p2p && api.mask & masks->p2p_api)
		p2p_api_start(task);
	if (!p2p && api.mask & masks->coll_api)
		coll_api_start(task);
	task->api_handle = p2p ? api.p2p_handle : api.coll_handle;
	if (!is_hidden(task))
		task->event_mask = api.mask;
}

/* NCCL stops whatever handle the thread has, wanted or not. */
void profiler_api_stop(const struct task *task)
{
	profiler_stop(task->api_handle);
	if (task_is_p2p(task))
		api.p2p_handle = NULL;
}
