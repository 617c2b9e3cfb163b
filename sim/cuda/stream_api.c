/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "context.h"
#include "stream.h"

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

CUresult stream_resolve(CUstream handle, CUstream *stream)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_ERROR_NOT_INITIALIZED)
		return result;
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

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = stream_new(context, flags, priority);
	if (!*handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_list(context, *handle);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *handle, unsigned int flags)
{
	return cuStreamCreateWithPriority(handle, flags, 0);
}

CUresult cuStreamDestroy(CUstream handle)
{
	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_close(handle);
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream handle)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

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

CUresult cuStreamSynchronize(CUstream handle)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	/* An empty task behind everything: on the legacy stream it also waits for the blocking streams. */
	struct stream_point last;
	if (stream == stream->context->legacy)
		result = stream_submit(stream, run_nothing, "", 0, &last);
	else
		last = stream_last(stream);
	if (result != CUDA_SUCCESS)
		return result;
	stream_point_wait(&last);
	stream_point_drop(&last);
	return CUDA_SUCCESS;
}

/* There is no capture: every stream answers "none". */
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return result;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
				const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count)
{
	(void)id, (void)graph, (void)dependencies, (void)edges, (void)count;
	return cuStreamIsCapturing(handle, status);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUstreamCaptureMode before = current;

	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	current = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context)
{
	CUstream stream;
	CUresult result = stream_resolve(handle, &stream);

	if (result == CUDA_SUCCESS)
		*context = stream->context;
	return result;
}
