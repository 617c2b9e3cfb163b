/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "stream.h"

struct CUevent_st {
	atomic_uint references; /* the handle and every record task on its way */
	unsigned int flags;
	_Atomic uint64_t reached_ns; /* CLOCK_MONOTONIC, of the record that was reached last */
	pthread_mutex_t lock;        /* guards at, recorded */
	struct stream_point at;
	bool recorded;
};

static void event_drop(CUevent event)
{
	if (atomic_fetch_sub(&event->references, 1) > 1)
		return;
	stream_point_drop(&event->at);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

static void run_record(void *payload)
{
	CUevent event = *(CUevent *)payload;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	atomic_store(&event->reached_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	event_drop(event);
}

static struct stream_point event_point(CUevent event)
{
	pthread_mutex_lock(&event->lock);
	struct stream_point point = stream_point_copy(&event->at);
	pthread_mutex_unlock(&event->lock);
	return point;
}

CUresult cuEventCreate(CUevent *handle, unsigned int flags)
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

CUresult cuEventRecord(CUevent event, CUstream handle)
{
	CUstream stream;
	struct stream_point at;
	CUresult result = event ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_HANDLE;

	if (result != CUDA_SUCCESS)
		return result;
	atomic_fetch_add(&event->references, 1);
	/* Not under the event's lock: a full queue may make this wait for record tasks of the same event. */
	result = stream_submit(stream, run_record, &event, sizeof(event), &at);
	if (result != CUDA_SUCCESS) {
		event_drop(event);
		return result;
	}
	pthread_mutex_lock(&event->lock);
	stream_point_drop(&event->at);
	event->at = at;
	event->recorded = true;
	pthread_mutex_unlock(&event->lock);
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	struct stream_point point = event_point(event);
	bool reached = stream_point_reached(&point);
	stream_point_drop(&point);
	return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	struct stream_point point = event_point(event);
	stream_point_wait(&point);
	stream_point_drop(&point);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	if (!start || !end || !start->recorded || !end->recorded)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (cuEventQuery(start) != CUDA_SUCCESS || cuEventQuery(end) != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_READY;
	int64_t ns = (int64_t)(atomic_load(&end->reached_ns) - atomic_load(&start->reached_ns));
	*milliseconds = (float)ns / 1e6f;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	event_drop(event);
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	CUstream stream;
	CUresult result = event ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_HANDLE;

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	struct stream_point point = event_point(event);
	return stream_submit_wait(stream, &point);
}
