/* SPDX-License-Identifier: MIT */
#include "sim/cuda/graphs/capture.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"

struct capture {
	struct capture *next;
	uint64_t id;
	CUstreamCaptureMode mode;
	pthread_t thread;
	CUstream origin, streams; /* streams: linked by next_captured, the origin among them */
	CUgraph graph;
	struct node_set orphans; /* where streams ended that are destroyed by now */
	bool invalid;
};

/* Guards the list, every capture, and of every stream capture, next_captured and after. Taken last. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;
static atomic_uint live; /* captures in the list: without any, nobody takes the lock */
static uint64_t ids;

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static bool is_beside_capture(CUstream legacy)
{
	for (struct capture *at = captures; at; at = at->next) {
		for (CUstream stream = at->streams; stream; stream = stream->next_captured) {
			if (stream->context == legacy->context && !stream->non_blocking)
				return true;
		}
	}
	return false;
}

static void invalidate_blocking(CUcontext context)
{
	for (struct capture *at = captures; at; at = at->next) {
		for (CUstream stream = at->streams; stream; stream = stream->next_captured)
			at->invalid |= stream->context == context && !stream->non_blocking;
	}
}

/* All below with the lock held, where a name ends in _locked. */
static CUresult covers_locked(CUstream stream, bool *captured)
{
	*captured = stream->capture != NULL;
	if (stream->capture)
		return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	if (stream != stream->context->legacy || !is_beside_capture(stream))
		return CUDA_SUCCESS;
	invalidate_blocking(stream->context);
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult capture_covers(CUstream stream, bool *captured)
{
	*captured = false;
	if (!atomic_load(&live))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	CUresult result = covers_locked(stream, captured);
	pthread_mutex_unlock(&lock);
	return result;
}

static CUresult add_locked(CUstream stream, const struct task_kind *kind, const void *payload, size_t size)
{
	struct node_set only = { 0 };
	CUgraphNode node = graph_add(stream->capture->graph, kind, payload, size, &stream->after);

	if (!node || !node_set_add(&only, node)) {
		stream->capture->invalid = true;
		return node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY; /* the node owns the payload */
	}
	node_set_clear(&stream->after);
	stream->after = only;
	stream->after_is_set = false;
	return CUDA_SUCCESS;
}

CUresult capture_task(CUstream stream, const struct task_kind *kind, const void *payload, size_t size, bool *captured)
{
	*captured = false;
	if (!atomic_load(&live))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	CUresult result = covers_locked(stream, captured);
	if (result == CUDA_SUCCESS && *captured)
		result = add_locked(stream, kind, payload, size);
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult capture_record(CUstream stream, struct captured_point *point, bool *captured)
{
	*captured = false;
	*point = (struct captured_point){ 0 };
	if (!atomic_load(&live))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	CUresult result = covers_locked(stream, captured);
	if (result == CUDA_SUCCESS && *captured) {
		point->id = stream->capture->id;
		if (!node_set_add_all(&point->after, &stream->after))
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static struct capture *find_locked(uint64_t id)
{
	struct capture *at = captures;

	while (at && at->id != id)
		at = at->next;
	return at;
}

static CUresult join_locked(CUstream stream, struct capture *capture, const struct node_set *after)
{
	if (stream == stream->context->legacy) {
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (stream->capture && stream->capture != capture) {
		stream->capture->invalid = capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (!stream->capture) {
		stream->capture = capture;
		stream->next_captured = capture->streams;
		capture->streams = stream;
	}
	return node_set_add_all(&stream->after, after) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_wait(CUstream stream, const struct captured_point *point)
{
	CUresult result;

	pthread_mutex_lock(&lock);
	struct capture *capture = find_locked(point->id);
	if (!capture)
		result = CUDA_ERROR_CAPTURED_EVENT;
	else if (capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else
		result = join_locked(stream, capture, &point->after);
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult capture_refuse_event(const struct captured_point *point)
{
	pthread_mutex_lock(&lock);
	struct capture *capture = find_locked(point->id);
	if (capture)
		capture->invalid = true;
	pthread_mutex_unlock(&lock);
	return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult refuse(CUstream stream, CUresult error)
{
	bool captured;
	CUresult result = capture_covers(stream, &captured);

	if (result != CUDA_SUCCESS || !captured)
		return result;
	pthread_mutex_lock(&lock);
	if (stream->capture)
		stream->capture->invalid = true;
	pthread_mutex_unlock(&lock);
	return error;
}

CUresult capture_refuse_stream(CUstream stream)
{
	return refuse(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult capture_refuse_outside(CUstream stream)
{
	return refuse(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

static bool prohibits(const struct capture *capture)
{
	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (pthread_equal(capture->thread, pthread_self()))
		return true;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_check_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	if (!atomic_load(&live))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	for (struct capture *at = captures; at; at = at->next) {
		if (!prohibits(at))
			continue;
		at->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static void leave_locked(CUstream stream)
{
	CUstream *at = &stream->capture->streams;

	while (*at != stream)
		at = &(*at)->next_captured;
	*at = stream->next_captured;
	stream->capture = NULL;
	stream->after_is_set = false;
	node_set_clear(&stream->after);
}

/* A stream that joined may go; what it did must still be joined by the others. */
static void orphan_locked(CUstream stream)
{
	struct capture *capture = stream->capture;

	if (!stream->after_is_set && !node_set_add_all(&capture->orphans, &stream->after))
		capture->invalid = true;
	leave_locked(stream);
}

/* The caller frees the capture and owns its graph. */
static void unlist_locked(struct capture *capture)
{
	struct capture **at = &captures;

	while (capture->streams)
		leave_locked(capture->streams);
	node_set_clear(&capture->orphans);
	while (*at != capture)
		at = &(*at)->next;
	*at = capture->next;
	atomic_fetch_sub(&live, 1);
}

void capture_forget(CUstream stream)
{
	struct capture *ended = NULL;

	if (!atomic_load(&live))
		return;
	pthread_mutex_lock(&lock);
	if (stream->capture && stream->capture->origin == stream)
		unlist_locked(ended = stream->capture);
	else if (stream->capture)
		orphan_locked(stream);
	pthread_mutex_unlock(&lock);
	if (ended)
		sim_cuGraphDestroy(ended->graph);
	free(ended);
}

static CUresult begin_locked(CUstream stream, struct capture *capture)
{
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture->id = ++ids;
	capture->origin = capture->streams = stream;
	capture->next = captures;
	captures = capture;
	stream->capture = capture;
	stream->next_captured = NULL;
	atomic_fetch_add(&live, 1);
	return CUDA_SUCCESS;
}

CUresult capture_begin(CUstream stream, CUstreamCaptureMode mode)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	CUgraph graph = graph_new();
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if (capture && graph) {
		*capture = (struct capture){ .mode = mode, .thread = pthread_self(), .graph = graph };
		pthread_mutex_lock(&lock);
		result = begin_locked(stream, capture);
		pthread_mutex_unlock(&lock);
	}
	if (result != CUDA_SUCCESS) {
		free(capture);
		free(graph);
	}
	return result;
}

/* A stream whose place was set has nothing of its own that could be lost. */
static bool is_joined(const struct capture *capture)
{
	const struct node_set *end = &capture->origin->after;

	for (CUstream stream = capture->streams; stream; stream = stream->next_captured) {
		if (!stream->after_is_set && !graph_is_joined(capture->graph, &stream->after, end))
			return false;
	}
	return graph_is_joined(capture->graph, &capture->orphans, end);
}

/* Sets *ended unless the capture goes on. */
static CUresult end_locked(CUstream stream, struct capture **ended)
{
	struct capture *capture = stream->capture;

	*ended = NULL;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream) {
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	CUresult result = CUDA_SUCCESS;
	if (capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	unlist_locked(capture);
	*ended = capture;
	return result;
}

CUresult capture_end(CUstream stream, CUgraph *graph)
{
	struct capture *ended;

	*graph = NULL;
	pthread_mutex_lock(&lock);
	CUresult result = end_locked(stream, &ended);
	pthread_mutex_unlock(&lock);
	if (ended && result != CUDA_SUCCESS)
		sim_cuGraphDestroy(ended->graph);
	else if (ended)
		*graph = ended->graph;
	free(ended);
	return result;
}

CUresult capture_look(CUstream stream, struct capture_view *view)
{
	CUresult result = CUDA_SUCCESS;

	*view = (struct capture_view){ .status = CU_STREAM_CAPTURE_STATUS_NONE };
	if (!atomic_load(&live))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	if (stream->capture)
		*view = (struct capture_view){ stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
									: CU_STREAM_CAPTURE_STATUS_ACTIVE,
					       stream->capture->id, stream->capture->graph, stream->after };
	if (stream == stream->context->legacy && is_beside_capture(stream))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	pthread_mutex_unlock(&lock);
	return result;
}

static CUresult update_locked(CUstream stream, const struct node_set *nodes, bool replace)
{
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (replace)
		node_set_clear(&stream->after);
	stream->after_is_set |= replace;
	return node_set_add_all(&stream->after, nodes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_update(CUstream stream, const struct node_set *nodes, bool replace)
{
	pthread_mutex_lock(&lock);
	CUresult result = update_locked(stream, nodes, replace);
	pthread_mutex_unlock(&lock);
	return result;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
	CUstreamCaptureMode before = thread_mode;

	thread_mode = mode;
	return before;
}
