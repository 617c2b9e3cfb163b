/* SPDX-License-Identifier: MIT */
/*
 * What happened to an operation goes into its slot in the black box. Called by the ABI adapters on NCCL's threads.
 * Contexts and handles that NCCL keeps are numbers in the form of pointers (plugin/recording/handle.h), never
 * dereferenced: NULL, stale and foreign ones do nothing. All of it is wait-free, allocates nothing and makes no system
 * call but what the two stream writes of GPU progress make inside the driver (and, once per thread, gettid).
 */
#ifndef PLUGIN_OPERATIONS_RECORDER_H
#define PLUGIN_OPERATIONS_RECORDER_H

#include <stdint.h>

#include "plugin/operations/reported.h"

/* Asks for the number of this thread now, so that its first operation makes no system call. */
void recorder_know_thread(void);

/*
 * Events begin: the handle for NCCL, or NULL when the event is of no interest. Each on the thread that makes the call,
 * launches or reports the task. parent: our handle, or anything.
 */
/* The outermost group of the API; the tasks of a plan follow. Of the context they need to know only that it is
 * recorded. */
void *recorder_start_group(void *context);
void *recorder_start_plan(void *context);
/* One collective or p2p call. */
void *recorder_start_call(void *context, const struct reported_call *call);
/* A plan's kernel is about to be launched. */
void *recorder_start_launch(void *context, uint64_t stream);
/* parent: the call. */
void *recorder_start_task(void *context, const void *parent, const struct reported_task *task);
void *recorder_start_bare_task(void *context, const struct reported_bare_task *task);
/* A task and its launch at once, on the copy engines. parent: the call. */
void *recorder_start_copy(void *context, const void *parent, uint64_t stream, const struct reported_task *task);
/* A channel of a task's kernel began at that %globaltimer. parent: the task. */
void *recorder_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw);
void *recorder_start_proxy_op(void *context, const struct reported_proxy_op *proxy_op);

/* The group whose handle that is has all its calls and is ending. */
void recorder_group_end(void *handle);
/* The event of this handle has stopped. */
void recorder_end(void *handle);
/* A step of a proxy operation, found only by the operation's handle: with PXN the context can be another process's. */
void *recorder_start_step(void *proxy_op, int step);
/* States of proxy operations and their steps, by NCCL's number. bytes: 0 not known. */
void recorder_proxy_state(void *handle, int state, uint64_t bytes);
/* The channel's part of the kernel ended at that %globaltimer. */
void recorder_channel_stop(void *handle, uint64_t raw);

#endif
