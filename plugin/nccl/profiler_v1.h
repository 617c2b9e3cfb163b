/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler interface, version 1 (NCCL 2.23), as far as we read it. Functions, types, algorithms and protocols
 * are NCCL's numbers of that release. Offsets: LP64.
 */
#ifndef PLUGIN_NCCL_PROFILER_V1_H
#define PLUGIN_NCCL_PROFILER_V1_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/nccl/profiler.h"

struct profiler_v1_coll {
	const char *name;   /* of the communicator, NULL none */
	uint64_t comm_hash; /* its identity: init does not report it */
	uint64_t sequence;
	uint8_t function;
	const void *send;
	void *recv;
	size_t count; /* AllGather and Broadcast: bytes, posing as ncclInt8 */
	int root;
	uint8_t dtype;
	uint32_t reduction;
	size_t traffic_bytes;
	uint8_t channels;
	uint8_t warps;
	uint8_t algorithm;
	uint8_t protocol;
	int collnet, nvls;
};

struct profiler_v1_p2p {
	const char *name;
	uint64_t comm_hash;
	uint8_t function;
	void *buffer;
	uint8_t dtype;
	size_t count;
	int peer;
};

struct profiler_v1_event {
	uint8_t type;
	void *parent;
	int rank; /* in the communicator; Coll and P2p only */
	union {
		struct profiler_v1_coll coll;
		struct profiler_v1_p2p p2p;
	};
};

/* The table of versions 1 to 3; the event's layout is the version's. */
struct profiler_v1 {
	const char *name;
	int (*init)(void **context, int *mask);
	int (*start_event)(void *context, void **handle, void *event);
	int (*stop_event)(void *handle);
	int (*record_event_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

static_assert(offsetof(struct profiler_v1_event, parent) == 8, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, rank) == 16, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.name) == 24, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.comm_hash) == 32, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.sequence) == 40, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.function) == 48, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.send) == 56, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.recv) == 64, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.count) == 72, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.root) == 80, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.dtype) == 84, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.reduction) == 88, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.traffic_bytes) == 96, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.channels) == 104, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.algorithm) == 106, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.protocol) == 107, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, coll.nvls) == 112, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, p2p.function) == 40, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, p2p.buffer) == 48, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, p2p.dtype) == 56, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, p2p.count) == 64, "NCCL 2.23");
static_assert(offsetof(struct profiler_v1_event, p2p.peer) == 72, "NCCL 2.23");
static_assert(sizeof(struct profiler_v1_event) == 120, "NCCL 2.23");
static_assert(sizeof(struct profiler_v1) == 48, "NCCL 2.23");

#endif
