/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/event.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/host_wait.h"

struct CUevent_st {
	atomic_uint references; /* the handle, every record task on its way, nodes of graphs */
	unsigned int flags;
	_Atomic uint64_t reached_ns; /* CLOCK_MONOTONIC, of the record that was reached last */
	pthread_mutex_t lock;        /* guards the rest */
	struct stream_point at;
	struct captured_point captured; /* of the newest record, if that was captured */
	bool recorded;                  /* outside of captures */
};

static void event_drop(CUevent event)
{
	if (atomic_fetch_sub(&event->references, 1) > 1)
		return;
	stream_point_drop(&event->at);
	node_set_clear(&event->captured.after);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

static void drop_event(void *payload)
{
	event_drop(*(CUevent *)payload);
}

static void run_record(void *payload)
{
	CUevent event = *(CUevent *)payload;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	atomic_store(&event->reached_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

/* Takes both over; with the lock held. */
static void event_set(CUevent event, const struct stream_point *at, const struct captured_point *captured)
{
	stream_point_drop(&event->at);
	node_set_clear(&event->captured.after);
	event->at = *at;
	event->captured = *captured;
	event->recorded |= !captured->id;
}

static const struct task_kind record_task = { CU_GRAPH_NODE_TYPE_EVENT_RECORD, run_record, drop_event, QUEUE_AT_ONCE };

static struct stream_point event_point(CUevent event)
{
	pthread_mutex_lock(&event->lock);
	struct stream_point point = stream_point_copy(&event->at);
	pthread_mutex_unlock(&event->lock);
	return point;
}

struct stream_point event_awaited(const void *payload)
{
	return event_point(*(const CUevent *)payload);
}

/* Only ever a node: what it waits for is chosen at each launch. */
static const struct task_kind wait_task = { CU_GRAPH_NODE_TYPE_WAIT_EVENT, NULL, drop_event, QUEUE_NOT };

void event_record_launched(void *payload, const struct stream_point *at)
{
	CUevent event = *(CUevent *)payload;
	struct stream_point point = stream_point_copy(at);

	pthread_mutex_lock(&event->lock);
	event_set(event, &point, &(struct captured_point){ 0 });
	pthread_mutex_unlock(&event->lock);
}

static bool event_captured(CUevent event)
{
	pthread_mutex_lock(&event->lock);
	bool captured = event->captured.id != 0;
	pthread_mutex_unlock(&event->lock);
	return captured;
}

CUresult sim_cuEventCreate(CUevent *handle, unsigned int flags)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || flags & ~(unsigned int)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	CUevent event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&event->references, 1);
	event->flags = flags;
	pthread_mutex_init(&event->lock, NULL);
	*handle = event;
	return CUDA_SUCCESS;
}

static CUresult submit_with_event(CUstream stream, const struct task_kind *kind, CUevent event, struct stream_point *at)
{
	atomic_fetch_add(&event->references, 1);
	CUresult result = stream_submit(stream, kind, &event, sizeof(event), at);
	if (result != CUDA_SUCCESS)
		event_drop(event);
	return result;
}

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int flags)
{
	CUstream stream;
	struct stream_point at = { 0 };
	struct captured_point captured = { 0 };
	bool is_captured;
	CUresult result = event ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_HANDLE;

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags)
		result = capture_covers(stream, &is_captured);
	else
		result = capture_record(stream, &captured, &is_captured);
	/* Not under the event's lock: a full queue may make this wait for record tasks of the same event. */
	if (result == CUDA_SUCCESS && (flags || !is_captured))
		result = submit_with_event(stream, &record_task, event, &at);
	if (result != CUDA_SUCCESS || (flags && is_captured))
		return result;
	pthread_mutex_lock(&event->lock);
	event_set(event, &at, &captured);
	pthread_mutex_unlock(&event->lock);
	return result;
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream)
{
	return sim_cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

static CUresult event_check(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&event->lock);
	struct captured_point captured = { event->captured.id, { 0 } };
	pthread_mutex_unlock(&event->lock);
	return captured.id ? capture_refuse_event(&captured) : CUDA_SUCCESS;
}

CUresult sim_cuEventQuery(CUevent event)
{
	CUresult result = event_check(event);

	if (result != CUDA_SUCCESS)
		return result;
	struct stream_point point = event_point(event);
	bool reached = stream_point_reached(&point);
	stream_point_drop(&point);
	return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_cuEventSynchronize(CUevent event)
{
	CUresult result = event_check(event);

	if (result != CUDA_SUCCESS)
		return result;
	struct stream_point point = event_point(event);
	if (event->flags & CU_EVENT_BLOCKING_SYNC)
		host_wait_by(&point, HOST_WAIT_BLOCK);
	else
		host_wait(&point);
	stream_point_drop(&point);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult first = sim_cuEventQuery(start), second = sim_cuEventQuery(end);
	if (first != CUDA_SUCCESS || second != CUDA_SUCCESS)
		return first != CUDA_SUCCESS ? first : second;
	int64_t ns = (int64_t)(atomic_load(&end->reached_ns) - atomic_load(&start->reached_ns));
	*milliseconds = (float)ns / 1e6f;
	return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	event_drop(event);
	return CUDA_SUCCESS;
}

/* Under the event's lock, so that the nodes stay: nothing in capture.c calls back. */
static CUresult wait_captured(CUstream stream, CUevent event)
{
	pthread_mutex_lock(&event->lock);
	CUresult result = capture_wait(stream, &event->captured);
	pthread_mutex_unlock(&event->lock);
	return result;
}

static CUresult wait_while_captured(CUstream stream, CUevent event, unsigned int flags)
{
	if (flags & CU_EVENT_WAIT_EXTERNAL)
		return submit_with_event(stream, &wait_task, event, NULL);
	return event->recorded ? capture_refuse_outside(stream) : CUDA_SUCCESS;
}

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	CUstream stream;
	bool captured;
	CUresult result = event ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_HANDLE;

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = capture_covers(stream, &captured);
	if (result != CUDA_SUCCESS)
		return result;
	if (event_captured(event) && !(flags && captured))
		return wait_captured(stream, event);
	if (captured)
		return wait_while_captured(stream, event, flags);
	struct stream_point point = event_point(event);
	return stream_submit_wait(stream, &point);
}
