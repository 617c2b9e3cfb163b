/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/stream_point.h"

#include <stdlib.h>

void stream_unref_unlock(CUstream stream)
{
	bool last = --stream->references == 0;

	pthread_mutex_unlock(&stream->lock);
	if (!last)
		return;
	pthread_cond_destroy(&stream->work);
	pthread_cond_destroy(&stream->moved);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

struct stream_point stream_last(CUstream stream)
{
	struct stream_point point = { 0 };

	pthread_mutex_lock(&stream->lock);
	if (stream->submitted != stream->completed) {
		point = (struct stream_point){ stream, stream->submitted };
		stream->references++;
	}
	pthread_mutex_unlock(&stream->lock);
	return point;
}

bool stream_point_reached(const struct stream_point *point)
{
	/* Pairs with the growth behind the task: whoever sees it sees what the task did. */
	return !point->stream || point->stream->completed >= point->task;
}

void stream_point_wait(const struct stream_point *point)
{
	CUstream stream = point->stream;

	if (!stream)
		return;
	pthread_mutex_lock(&stream->lock);
	while (stream->completed < point->task)
		pthread_cond_wait(&stream->moved, &stream->lock);
	pthread_mutex_unlock(&stream->lock);
}

void stream_watch(CUstream stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->watchers++;
	pthread_mutex_unlock(&stream->lock);
}

void stream_unwatch(CUstream stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->watchers--;
	pthread_mutex_unlock(&stream->lock);
}

struct stream_point stream_point_copy(const struct stream_point *point)
{
	if (point->stream) {
		pthread_mutex_lock(&point->stream->lock);
		point->stream->references++;
		pthread_mutex_unlock(&point->stream->lock);
	}
	return *point;
}

void stream_point_drop(struct stream_point *point)
{
	CUstream stream = point->stream;

	point->stream = NULL;
	if (!stream)
		return;
	pthread_mutex_lock(&stream->lock);
	stream_unref_unlock(stream);
}
