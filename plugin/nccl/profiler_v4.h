/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler interface, version 4 (NCCL 2.27), as far as we read it. NCCL does not install this header, so the
 * layout is pinned here; it never changes within a version. Offsets: LP64.
 */
#ifndef PLUGIN_NCCL_PROFILER_V4_H
#define PLUGIN_NCCL_PROFILER_V4_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/nccl/profiler.h"

struct profiler_v4_coll {
	uint64_t sequence;
	const char *function;
	const void *send;
	void *recv;
	size_t count; /* AllGather and Broadcast: bytes, posing as ncclInt8 */
	int root;
	const char *dtype;
	uint8_t channels;
	uint8_t warps;
	const char *algorithm;
	const char *protocol;
};

struct profiler_v4_p2p {
	const char *function;
	void *buffer;
	const char *dtype;
	size_t count;
	int peer;
	uint8_t channels; /* not filled when NCCL >= 2.28 runs us through its adapter */
};

struct profiler_v4_event {
	uint8_t type; /* 8 bits here, 64 from version 5 on */
	void *parent;
	int rank;
	union {
		struct profiler_v4_coll coll;
		struct profiler_v4_p2p p2p;
		struct profiler_kernel_ch kernel_ch;
	};
};

struct profiler_v4 {
	const char *name;
	int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nnodes, int nranks,
		    int rank, profiler_log *log);
	int (*start_event)(void *context, void **handle, struct profiler_v4_event *event);
	int (*stop_event)(void *handle);
	int (*record_event_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

static_assert(offsetof(struct profiler_v4_event, parent) == 8, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, rank) == 16, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.sequence) == 24, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.function) == 32, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.send) == 40, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.recv) == 48, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.count) == 56, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.root) == 64, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.dtype) == 72, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.channels) == 80, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.algorithm) == 88, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, coll.protocol) == 96, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, p2p.function) == 24, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, p2p.buffer) == 32, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, p2p.dtype) == 40, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, p2p.count) == 48, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, p2p.peer) == 56, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, kernel_ch.channel) == 24, "NCCL 2.27");
static_assert(offsetof(struct profiler_v4_event, kernel_ch.timer) == 32, "NCCL 2.27");
static_assert(sizeof(struct profiler_v4_event) == 104, "NCCL 2.27");
static_assert(sizeof(struct profiler_v4) == 48, "NCCL 2.27");

#endif
