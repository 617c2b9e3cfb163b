/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/host_wait.h"
#include "sim/cuda/streams/stream.h"

/* One per thread and context, made on first use of CU_STREAM_PER_THREAD. */
struct thread_stream {
	struct thread_stream *next;
	CUstream stream;
};

static pthread_key_t thread_streams;
static pthread_once_t thread_streams_once = PTHREAD_ONCE_INIT;

static void thread_streams_close(void *list)
{
	struct thread_stream *at = list;

	while (at) {
		struct thread_stream *next = at->next;
		if (at->stream->context->legacy)
			stream_close(at->stream);
		free(at);
		at = next;
	}
}

static void thread_streams_key(void)
{
	pthread_key_create(&thread_streams, thread_streams_close);
}

static void context_list(CUcontext context, CUstream stream)
{
	pthread_mutex_lock(&context->lock);
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&context->lock);
}

static CUresult thread_stream(CUcontext context, CUstream *stream)
{
	pthread_once(&thread_streams_once, thread_streams_key);
	struct thread_stream *list = pthread_getspecific(thread_streams);
	for (struct thread_stream *at = list; at; at = at->next) {
		if (at->stream->context == context) {
			*stream = at->stream;
			return CUDA_SUCCESS;
		}
	}
	struct thread_stream *made = malloc(sizeof(*made));
	*stream = stream_new(context, CU_STREAM_DEFAULT, 0);
	if (!made || !*stream) {
		free(made);
		free(*stream);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*made = (struct thread_stream){ list, *stream };
	pthread_setspecific(thread_streams, made);
	context_list(context, *stream);
	return CUDA_SUCCESS;
}

static _Thread_local bool zero_is_per_thread;

void stream_zero_is_per_thread(bool is)
{
	zero_is_per_thread = is;
}

CUresult stream_resolve(CUstream handle, CUstream *stream)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_ERROR_NOT_INITIALIZED)
		return result;
	if (!handle && zero_is_per_thread)
		handle = CU_STREAM_PER_THREAD;
	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
		*stream = handle;
		return CUDA_SUCCESS;
	}
	if (result != CUDA_SUCCESS)
		return result;
	if (handle == CU_STREAM_PER_THREAD)
		return thread_stream(context, stream);
	*stream = context->legacy;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > CONTEXT_PRIORITY_LEAST      ? CONTEXT_PRIORITY_LEAST
		   : priority < CONTEXT_PRIORITY_GREATEST ? CONTEXT_PRIORITY_GREATEST
							  : priority;
	*handle = stream_new(context, flags, priority);
	if (!*handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_list(context, *handle);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *handle, unsigned int flags)
{
	return sim_cuStreamCreateWithPriority(handle, flags, 0);
}

CUresult sim_cuStreamDestroy(CUstream handle)
{
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_close(handle);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamQuery(CUstream handle)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	result = capture_refuse_stream(stream);
	if (result != CUDA_SUCCESS)
		return result;
	struct stream_point last = stream_last(stream);
	bool reached = stream_point_reached(&last);
	stream_point_drop(&last);
	return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static void run_nothing(void *payload)
{
	(void)payload;
}

const struct task_kind stream_nothing = { CU_GRAPH_NODE_TYPE_EMPTY, run_nothing, NULL, QUEUE_AT_ONCE };

CUresult sim_cuStreamSynchronize(CUstream handle)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	result = capture_refuse_stream(stream);
	if (result != CUDA_SUCCESS)
		return result;
	/* An empty task behind everything: on the legacy stream it also waits for the blocking streams. */
	struct stream_point last;
	if (stream == stream->context->legacy)
		result = stream_submit(stream, &stream_nothing, "", 0, &last);
	else
		last = stream_last(stream);
	if (result != CUDA_SUCCESS)
		return result;
	host_wait(&last);
	stream_point_drop(&last);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCtx(CUstream handle, CUcontext *context)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*context = stream->context;
	return result;
}

CUresult sim_cuStreamGetPriority(CUstream handle, int *priority)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*priority = stream->priority;
	return result;
}

CUresult sim_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*flags = stream->non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
	return result;
}

CUresult sim_cuStreamGetId(CUstream handle, unsigned long long *id)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*id = stream->id;
	return result;
}

CUresult sim_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*device = stream->context->device;
	return result;
}
