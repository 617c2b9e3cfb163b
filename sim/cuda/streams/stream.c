/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/stream.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/graphs/capture.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/host_wait.h"

CUstream stream_new(CUcontext context, unsigned int flags, int priority)
{
	static _Atomic uint64_t ids;
	CUstream stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->context = context;
	stream->hardware = &context->queues[atomic_fetch_add(&context->streams_made, 1) % context->queue_count];
	stream->non_blocking = flags & CU_STREAM_NON_BLOCKING;
	stream->priority = priority;
	stream->references = 1;
	stream->id = atomic_fetch_add(&ids, 1) + 1;
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->work, NULL);
	pthread_cond_init(&stream->moved, NULL);
	return stream;
}

static void context_unlist(CUstream stream)
{
	CUcontext context = stream->context;

	pthread_mutex_lock(&context->lock);
	for (CUstream *at = &context->streams; *at; at = &(*at)->next) {
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	}
	pthread_mutex_unlock(&context->lock);
}

void stream_close(CUstream stream)
{
	context_unlist(stream);
	capture_forget(stream);
	pthread_mutex_lock(&stream->lock);
	stream->closing = true;
	if (stream->started)
		atomic_fetch_add(&stream->context->closing, 1);
	pthread_cond_signal(&stream->work);
	stream_unref_unlock(stream);
}

/* Called with the lock held. */
static void wake_moved(CUstream stream)
{
	pthread_cond_broadcast(&stream->moved);
	if (stream->watchers)
		callback_ring(stream->context->callbacks);
}

static bool goes_through(const struct CUstream_st *stream, const struct stream_task *task)
{
	return stream->hardware && task->kind->passage != QUEUE_NOT;
}

static void run_task(CUstream stream, struct stream_task *task)
{
	bool queued = goes_through(stream, task), at_end = task->kind->passage == QUEUE_WHEN_IT_ENDS;

	if (queued)
		hardware_queue_reach(stream->hardware, &task->entry);
	if (queued && !at_end)
		hardware_queue_pass(stream->hardware, &task->entry);
	task->kind->run(task->payload);
	if (queued && at_end)
		hardware_queue_pass(stream->hardware, &task->entry);
	if (task->kind->drop)
		task->kind->drop(task->payload);
}

/* A record behind a wait waits at the front of the queue as a kernel does. Called with the lock held. */
static void enqueue(CUstream stream, struct stream_task *task)
{
	bool queued = goes_through(stream, task);

	if (queued)
		hardware_queue_add(stream->hardware, &task->entry,
				   stream->waits || task->kind->passage != QUEUE_AT_ONCE);
	stream->waits = !queued;
}

static void *stream_main(void *argument)
{
	CUstream stream = argument;

	pthread_mutex_lock(&stream->lock);
	for (;;) {
		while (stream->submitted == stream->completed && !stream->closing)
			pthread_cond_wait(&stream->work, &stream->lock);
		if (stream->submitted == stream->completed)
			break;
		struct stream_task *task = &stream->queue[stream->completed % STREAM_QUEUE];
		pthread_mutex_unlock(&stream->lock);
		run_task(stream, task);
		pthread_mutex_lock(&stream->lock);
		stream->completed++;
		wake_moved(stream);
	}
	atomic_fetch_sub(&stream->context->closing, 1);
	stream_unref_unlock(stream);
	return NULL;
}

/* Called with the lock held. The thread takes no signals: they belong to the program's own threads. */
static CUresult stream_start(CUstream stream)
{
	static atomic_uint numbers;
	char name[16];
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, stream_main, stream);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(name, sizeof(name), "cuda-stream-%u", atomic_fetch_add(&numbers, 1) % 1000);
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	stream->started = true;
	stream->references++;
	return CUDA_SUCCESS;
}

/* A full launch queue holds up the host as any wait for the GPU does. Called with the lock held. */
static void wait_for_room(CUstream stream)
{
	while (stream->submitted - stream->completed == STREAM_QUEUE) {
		struct stream_point oldest = { stream, stream->completed + 1 };
		stream->references++;
		pthread_mutex_unlock(&stream->lock);
		host_wait(&oldest);
		stream_point_drop(&oldest);
		pthread_mutex_lock(&stream->lock);
	}
}

static CUresult stream_push(CUstream stream, const struct task_kind *kind, const void *payload, size_t size,
			    struct stream_point *at)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&stream->lock);
	if (!stream->started)
		result = stream_start(stream);
	if (result != CUDA_SUCCESS) {
		pthread_mutex_unlock(&stream->lock);
		return result;
	}
	wait_for_room(stream);
	struct stream_task *task = &stream->queue[stream->submitted % STREAM_QUEUE];
	task->kind = kind;
	memcpy(task->payload, payload, size);
	enqueue(stream, task);
	stream->submitted++;
	if (at) {
		*at = (struct stream_point){ stream, stream->submitted };
		stream->references++;
	}
	pthread_cond_signal(&stream->work);
	pthread_mutex_unlock(&stream->lock);
	return CUDA_SUCCESS;
}

static void run_wait(void *payload)
{
	struct stream_point *point = payload;

	stream_point_wait(point);
}

static void drop_wait(void *payload)
{
	stream_point_drop(payload);
}

static const struct task_kind wait_task = { CU_GRAPH_NODE_TYPE_EMPTY, run_wait, drop_wait, QUEUE_NOT };

static CUresult push_wait(CUstream stream, struct stream_point *point)
{
	/* A stream is always past its own earlier work; waiting for it would also pin its memory for ever. */
	if (point->stream == stream || stream_point_reached(point)) {
		stream_point_drop(point);
		return CUDA_SUCCESS;
	}
	CUresult result = stream_push(stream, &wait_task, point, sizeof(*point), NULL);
	if (result != CUDA_SUCCESS)
		stream_point_drop(point);
	return result;
}

enum selection { ALL, BLOCKING };

static size_t context_stream_count(CUcontext context)
{
	size_t count = 1;

	for (CUstream stream = context->streams; stream; stream = stream->next)
		count++;
	return count;
}

/* Points of the unfinished streams of a context; the caller drops each and frees the array. Not the legacy stream's
 * unless ALL. */
static struct stream_point *stream_points(CUcontext context, enum selection selection, size_t *count)
{
	*count = 0;
	pthread_mutex_lock(&context->lock);
	struct stream_point *points = calloc(context_stream_count(context), sizeof(*points));
	for (CUstream stream = context->streams; points && stream; stream = stream->next) {
		if (selection == BLOCKING && stream->non_blocking)
			continue;
		points[*count] = stream_last(stream);
		*count += points[*count].stream != NULL;
	}
	if (points && selection == ALL && context->legacy)
		points[(*count)++] = stream_last(context->legacy);
	pthread_mutex_unlock(&context->lock);
	return points;
}

static CUresult wait_for_blocking_streams(CUstream legacy)
{
	CUresult result = CUDA_SUCCESS;
	size_t count;
	struct stream_point *points = stream_points(legacy->context, BLOCKING, &count);

	for (size_t i = 0; i < count; i++) {
		CUresult pushed = push_wait(legacy, &points[i]);
		if (pushed != CUDA_SUCCESS)
			result = pushed;
	}
	free(points);
	return result;
}

/*
 * The legacy default stream: its work waits for all earlier work of the blocking streams, and theirs for its. Each wait
 * is on work that was numbered before the wait itself was, so waits cannot form a circle.
 */
static CUresult legacy_order(CUstream stream)
{
	CUstream legacy = stream->context->legacy;

	if (stream == legacy)
		return wait_for_blocking_streams(legacy);
	if (stream->non_blocking || !legacy)
		return CUDA_SUCCESS;
	struct stream_point last = stream_last(legacy);
	return push_wait(stream, &last);
}

CUresult stream_submit(CUstream stream, const struct task_kind *kind, const void *payload, size_t size,
		       struct stream_point *at)
{
	bool captured;
	CUresult result = capture_task(stream, kind, payload, size, &captured);

	if (at)
		*at = (struct stream_point){ 0 };
	if (result != CUDA_SUCCESS || captured)
		return result;
	result = legacy_order(stream);
	return result == CUDA_SUCCESS ? stream_push(stream, kind, payload, size, at) : result;
}

CUresult stream_submit_wait(CUstream stream, struct stream_point *point)
{
	CUresult result = legacy_order(stream);

	if (result == CUDA_SUCCESS)
		return push_wait(stream, point);
	stream_point_drop(point);
	return result;
}

void streams_drain(CUcontext context)
{
	size_t count;
	struct stream_point *points = stream_points(context, ALL, &count);

	for (size_t i = 0; i < count; i++) {
		host_wait(&points[i]);
		stream_point_drop(&points[i]);
	}
	free(points);
	/* What a destroyed stream was given still runs, and uses memory that the caller is about to free. */
	while (atomic_load(&context->closing))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}
