/* SPDX-License-Identifier: MIT */
/*
 * Everything that waits for a stream waits for a point: the number of a task, reached when that task is done. Streams
 * that wait for each other sleep on a condition variable; how the program's threads wait is in host_wait.h.
 */
#ifndef SIM_CUDA_STREAMS_STREAM_POINT_H
#define SIM_CUDA_STREAMS_STREAM_POINT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "sim/cuda/graphs/node_set.h"
#include "sim/cuda/streams/hardware_queue.h"

#define STREAM_QUEUE         1024 /* a full queue makes the submitter wait, as a GPU's launch queue does */
#define STREAM_PAYLOAD_BYTES 112

/* What a task does. Under capture it becomes a graph's node: run is called at every replay and leaves the payload as it
 * is; drop, once in the end, releases what the payload owns (NULL: nothing). */
struct task_kind {
	CUgraphNodeType node;
	void (*run)(void *payload);
	void (*drop)(void *payload);
	enum queue_passage passage;
};

struct stream_task {
	const struct task_kind *kind;
	struct queue_entry entry;
	_Alignas(16) unsigned char payload[STREAM_PAYLOAD_BYTES];
};

struct CUstream_st {
	CUcontext context;
	CUstream next; /* in context->streams */
	struct hardware_queue *hardware; /* which its work goes through; NULL: none, as the branches of a graph */
	/* work that does not go through the queue was submitted last: what follows has to wait for it there */
	bool waits;
	bool non_blocking;
	int priority;
	unsigned int references; /* under lock: the handle, the thread, every point */
	pthread_mutex_t lock;
	pthread_cond_t work;  /* the thread waits: a task came, or closing */
	pthread_cond_t moved; /* other streams wait: completed grew */
	unsigned int watchers; /* hosts that block wait likewise */
	uint64_t submitted;
	_Atomic uint64_t completed; /* grows under the lock; a host that spins reads it without */
	bool started, closing;
	uint64_t id;
	struct capture *capture; /* this and the next three belong to capture.c */
	CUstream next_captured;
	struct node_set after;
	bool after_is_set; /* by the program, and nothing was captured since */
	struct stream_task queue[STREAM_QUEUE];
};

/* A place in a stream's order; holds a reference to the stream. stream NULL: reached since ever. */
struct stream_point {
	CUstream stream;
	uint64_t task;
};

/* Of what was submitted last. */
struct stream_point stream_last(CUstream stream);
bool stream_point_reached(const struct stream_point *point);
/* On a GPU's own thread. */
void stream_point_wait(const struct stream_point *point);
/* While somebody watches, the context's thread for events is woken whenever the stream moves. */
void stream_watch(CUstream stream);
void stream_unwatch(CUstream stream);
struct stream_point stream_point_copy(const struct stream_point *point);
void stream_point_drop(struct stream_point *point);
/* Called with the stream's lock held; releases it. The last reference frees the stream. */
void stream_unref_unlock(CUstream stream);

#endif
