/* SPDX-License-Identifier: MIT */
/*
 * A stream is a queue of tasks and the thread that runs them in order. How one waits for it: stream_point.h.
 */
#ifndef SIM_CUDA_STREAMS_STREAM_H
#define SIM_CUDA_STREAMS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

#include "sim/cuda/streams/stream_point.h"

/* Not yet in any context's list; its thread starts with its first task. NULL: out of memory. */
CUstream stream_new(CUcontext context, unsigned int flags, int priority);
/* Takes it out of its context's list; queued tasks still run, then the thread ends and the memory goes. */
void stream_close(CUstream stream);
/* What a handle means on the calling thread: 0 and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or itself. */
CUresult stream_resolve(CUstream handle, CUstream *stream);

/* Does nothing: a place in the order. */
extern const struct task_kind stream_nothing;

/* Whether stream 0 means the thread's own stream in the calling thread's present call. */
void stream_zero_is_per_thread(bool is);

/*
 * Queues the task and, before it, the waits that the legacy default stream demands; while the stream is captured, adds
 * it to the graph instead. Copies size bytes and takes over what the payload owns. May block while the queue is full.
 * at (may be NULL) receives the point of the task, the caller drops it; of a captured task there is none.
 */
CUresult stream_submit(CUstream stream, const struct task_kind *kind, const void *payload, size_t size,
		       struct stream_point *at);
/* Makes later work of the stream wait for the point; takes the point over. */
CUresult stream_submit_wait(CUstream stream, struct stream_point *point);

/* Waits until everything submitted to the context before the call is done. */
void streams_drain(CUcontext context);

#endif
