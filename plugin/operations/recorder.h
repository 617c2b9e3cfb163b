/* SPDX-License-Identifier: MIT */
/*
 * What happened to an operation goes into its slot in the black box. Called by the ABI adapters on NCCL's threads.
 * Contexts and handles that NCCL keeps are numbers in the form of pointers (plugin/recording/handle.h), never
 * dereferenced: NULL, stale and foreign ones do nothing. All of it is wait-free, allocates nothing and makes no system
 * call but what the two stream writes of GPU progress make inside the driver (and, once per thread, gettid).
 */
#ifndef PLUGIN_OPERATIONS_RECORDER_H
#define PLUGIN_OPERATIONS_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/communicator_init.h"

/* Asks for the number of this thread now, so that its first operation makes no system call. */
void recorder_know_thread(void);
/* Is a group of NCCL's open on this thread? Only profiler ABI v5 and later tell. */
bool recorder_in_group(void);
/* Its number; 0: in none. */
uint32_t recorder_group(void);

struct recorder_call {
	uint8_t function; /* enum rw_function */
	uint8_t dtype;    /* enum rw_dtype */
	uint8_t reduction; /* enum rw_operator, from the interposer */
	bool captured;
	int32_t root; /* -1 none */
	uint64_t count;
	uint64_t stream;
};

struct recorder_task {
	uint64_t nccl_sequence;
	uint64_t send, recv; /* addresses, 0 = none */
	int32_t peer;        /* p2p: communicator rank; else -1 */
	uint8_t algorithm, protocol, channels;
};

/* What a task sends to or receives from one peer through one channel; of this process only. */
struct recorder_proxy_op {
	int peer, step_bytes;
	uint8_t channel;
	bool sends;
};

/* A task without a call (before ABI v5). */
struct recorder_bare_task {
	struct communicator_identity identity; /* before ABI v4: whose task it is, which init did not report */
	struct recorder_call call;
	struct recorder_task task;
};

/*
 * Events begin: the handle for NCCL, or NULL when the event is of no interest. Each on the thread that makes the call,
 * launches or reports the task. parent: our handle, or anything.
 */
/* The outermost group of the API; the tasks of a plan follow. Of the context they need to know only that it is
 * recorded. */
void *recorder_start_group(void *context);
void *recorder_start_plan(void *context);
/* One collective or p2p call. */
void *recorder_start_call(void *context, const struct recorder_call *call);
/* A plan's kernel is about to be launched. */
void *recorder_start_launch(void *context, uint64_t stream);
/* parent: the call. */
void *recorder_start_task(void *context, const void *parent, const struct recorder_task *task);
void *recorder_start_bare_task(void *context, const struct recorder_bare_task *task);
/* A task and its launch at once, on the copy engines. parent: the call. */
void *recorder_start_copy(void *context, const void *parent, uint64_t stream, const struct recorder_task *task);
/* A channel of a task's kernel began at that %globaltimer. parent: the task. */
void *recorder_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw);
void *recorder_start_proxy_op(void *context, const struct recorder_proxy_op *proxy_op);

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
