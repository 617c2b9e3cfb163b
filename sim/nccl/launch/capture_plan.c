/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/capture_plan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/nccl/launch/launch.h"
#include "sim/nccl/log.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/release.h"

static ncclResult_t capture_of(CUstream stream, cuuint64_t *id, CUgraph *graph)
{
	CUstreamCaptureStatus status;
	cuuint64_t found;

	*id = 0;
	ncclResult_t result = DRIVER(cuStreamGetCaptureInfo, stream, &status, &found, graph, (const CUgraphNode **)NULL,
				     (const CUgraphEdgeData **)NULL, (size_t *)NULL);
	if (result == ncclSuccess && status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
		*id = found;
	return result;
}

static bool launches_block(void)
{
	const char *value = getenv("CUDA_LAUNCH_BLOCKING");

	return value && *value && *value != '0';
}

/* Only graphs leave a host stream behind that the caller knows nothing of. */
static bool callbacks_are_behind(const struct capture *capture)
{
	return atomic_load(&capture->live_plans) > 0 &&
	       (driver.cuStreamQuery(capture->host_stream) == CUDA_ERROR_NOT_READY ||
		driver.cuEventQuery(capture->host_reached) == CUDA_ERROR_NOT_READY);
}

static bool has_proxy_work(const struct plan *plan)
{
	return plan->channel_events || plan->comm->network;
}

static void look_together(struct plan *plan)
{
	bool callbacks = plan->capture_id || launches_block() || callbacks_are_behind(&plan->comm->capture);

	for (struct plan *at = plan; at; at = at->more) {
		at->capture_id = plan->capture_id;
		at->graph = plan->graph;
		at->host_events = callbacks && has_proxy_work(at);
	}
}

ncclResult_t capture_look(struct plan *plan)
{
	ncclResult_t result = capture_of(plan->streams[0], &plan->capture_id, &plan->graph);

	for (size_t i = 1; i < plan->stream_count && result == ncclSuccess; i++) {
		cuuint64_t id;
		CUgraph graph;
		result = capture_of(plan->streams[i], &id, &graph);
		if (result != ncclSuccess || id == plan->capture_id)
			continue;
		log_warn("Streams given to a communicator within a NCCL group must either be all uncaptured or all "
			 "captured by the same graph.");
		return ncclInvalidUsage;
	}
	if (result == ncclSuccess)
		look_together(plan);
	return result;
}

/* On whichever thread lets go of the last graph. */
static void release_plan(void *argument)
{
	struct plan *plan = argument;
	struct ncclComm *comm = plan->comm;

	atomic_fetch_sub(&comm->capture.live_plans, 1);
	plan_drop(plan);
	comm_plan_done(comm);
}

/* Until then the communicator cannot go either, as in NCCL. */
ncclResult_t capture_keep(struct plan *plan)
{
	CUuserObject object;
	ncclResult_t result =
	    DRIVER(cuUserObjectCreate, &object, plan, release_plan, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);

	if (result != ncclSuccess)
		return result;
	atomic_fetch_add(&plan->references, 1);
	comm_plan_started(plan->comm);
	atomic_fetch_add(&plan->comm->capture.live_plans, 1);
	result = DRIVER(cuGraphRetainUserObject, plan->graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
	if (result != ncclSuccess)
		driver.cuUserObjectRelease(object, 1);
	return result;
}

/*
 * Within a capture the order is that of captured events. The first plan of a capture waits, at each replay, for what
 * the communicator did last outside of it.
 */
ncclResult_t capture_prepare(struct plan *plan)
{
	struct capture *capture = &plan->comm->capture;
	CUstream stream = plan_launch_stream(plan);
	bool first = capture->id != plan->capture_id;
	ncclResult_t result = first ? DRIVER(cuStreamWaitEvent, stream, plan->comm->order, CU_EVENT_WAIT_EXTERNAL)
				    : DRIVER(cuStreamWaitEvent, stream, capture->order, 0);

	capture->id = plan->capture_id;
	for (size_t i = 0; i + 1 < plan->stream_count && result == ncclSuccess; i++) {
		result = DRIVER(cuEventRecord, capture->order, plan->streams[i]);
		if (result == ncclSuccess)
			result = DRIVER(cuStreamWaitEvent, stream, capture->order, 0);
	}
	return result;
}

ncclResult_t capture_finish(struct plan *plan)
{
	struct capture *capture = &plan->comm->capture;
	CUstream stream = plan_launch_stream(plan);
	ncclResult_t result = DRIVER(cuEventRecordWithFlags, plan->comm->order, stream, CU_EVENT_RECORD_EXTERNAL);

	if (result == ncclSuccess)
		result = DRIVER(cuEventRecord, capture->order, stream);
	for (size_t i = 0; i + 1 < plan->stream_count && result == ncclSuccess; i++)
		result = DRIVER(cuStreamWaitEvent, plan->streams[i], capture->order, 0);
	return result;
}

/* A replay's own copy of a captured plan: what its events and its progress write stays out of the pattern. */
static struct plan *copy_plan(const struct plan *pattern)
{
	struct plan *plan = plan_new(pattern->comm);
	bool copied = plan != NULL;

	for (const struct task *task = pattern->collectives; task && copied; task = task->next)
		copied = plan_add(plan, task) == ncclSuccess;
	for (const struct task *task = pattern->p2p; task && copied; task = task->next)
		copied = plan_add(plan, task) == ncclSuccess;
	if (!copied) {
		if (plan)
			plan_drop(plan);
		return NULL;
	}
	plan->capture_id = pattern->capture_id;
	plan->channel_events = pattern->channel_events;
	plan->group_handle = pattern->group_handle;
	comm_plan_started(plan->comm);
	return plan;
}

static void keep_works(struct task *to, const struct task *from)
{
	for (; to && from; to = to->next, from = from->next)
		memcpy(to->works, from->works, sizeof(to->works));
}

static void keep_task_handles(struct task *to, const struct task *from)
{
	for (; to && from; to = to->next, from = from->next)
		to->handle = from->handle;
}

/* NCCL has one place for them: what this replay's events were given is there when the next one's start. */
static void keep_handles(struct plan *pattern, const struct plan *copy)
{
	pattern->group_handle = copy->group_handle;
	keep_task_handles(pattern->collectives, copy->collectives);
	keep_task_handles(pattern->p2p, copy->p2p);
}

static void push(struct plan *pattern, struct plan *copy)
{
	pthread_mutex_lock(&pattern->comm->lock);
	struct plan **at = &pattern->replays;
	while (*at)
		at = &(*at)->next;
	*at = copy;
	pthread_mutex_unlock(&pattern->comm->lock);
}

static struct plan *pop(struct plan *pattern)
{
	pthread_mutex_lock(&pattern->comm->lock);
	struct plan *copy = pattern->replays;
	if (copy) {
		pattern->replays = copy->next;
		copy->next = NULL;
	}
	pthread_mutex_unlock(&pattern->comm->lock);
	return copy;
}

struct plan *capture_plan_to_run(struct plan *plan)
{
	if (!plan->capture_id)
		return plan;
	struct plan *copy = pop(plan);
	return copy ? copy : copy_plan(plan);
}

/* The kernel that follows takes the copy and drops it. */
static void run_replay_callback(void *argument)
{
	struct plan *pattern = argument, *copy = copy_plan(pattern);

	if (!copy)
		return;
	profiler_plan_events(copy, launch_hand_to_proxy);
	if (!release()->clears_handles)
		keep_handles(pattern, copy);
	keep_works(pattern->collectives, copy->collectives);
	keep_works(pattern->p2p, copy->p2p);
	push(pattern, copy);
}

static void run_callback(void *argument)
{
	struct plan *plan = argument;

	profiler_plan_events(plan, launch_hand_to_proxy);
	plan_drop(plan);
}

static ncclResult_t order_streams(struct capture *capture, CUstream first, CUstream second)
{
	ncclResult_t result = DRIVER(cuEventRecord, capture->host_order, first);

	return result == ncclSuccess ? DRIVER(cuStreamWaitEvent, second, capture->host_order, 0) : result;
}

static ncclResult_t enqueue_captured(struct plan *plan)
{
	struct capture *capture = &plan->comm->capture;
	ncclResult_t result = ncclSuccess;

	/* Its first callback brings the host stream into the capture; the others follow that one, not the kernels. */
	if (!capture_covers(capture->host_stream))
		result = order_streams(capture, plan_launch_stream(plan), capture->host_stream);
	if (result == ncclSuccess)
		result = DRIVER(cuLaunchHostFunc, capture->host_stream, run_replay_callback, plan);
	if (result == ncclSuccess)
		result = DRIVER(cuEventRecordWithFlags, capture->host_reached, capture->host_stream,
				CU_EVENT_RECORD_EXTERNAL);
	return result;
}

static ncclResult_t enqueue_eager(struct plan *plan)
{
	struct capture *capture = &plan->comm->capture;
	ncclResult_t result = DRIVER(cuStreamWaitEvent, capture->host_stream, capture->host_reached, 0);

	if (result != ncclSuccess)
		return result;
	atomic_fetch_add(&plan->references, 1);
	result = DRIVER(cuLaunchHostFunc, capture->host_stream, run_callback, plan);
	if (result != ncclSuccess)
		plan_drop(plan);
	return result;
}

ncclResult_t capture_enqueue_callback(struct plan *plan)
{
	struct capture *capture = &plan->comm->capture;
	ncclResult_t result = plan->capture_id ? enqueue_captured(plan) : enqueue_eager(plan);

	return result == ncclSuccess ? order_streams(capture, capture->host_stream, plan_launch_stream(plan)) : result;
}
