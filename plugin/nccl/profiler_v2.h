/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler interface, versions 2 (NCCL 2.24) and 3 (2.26), as far as we read them: names instead of numbers.
 * Version 3 is version 2 without trafficBytes, plus kinds of events that we do not ask for. Offsets: LP64.
 */
#ifndef PLUGIN_NCCL_PROFILER_V2_H
#define PLUGIN_NCCL_PROFILER_V2_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/nccl/profiler_v1.h"

/* What both versions have at the same place. */
struct profiler_v2_coll {
	const char *name;   /* of the communicator, NULL none */
	uint64_t comm_hash; /* its identity: init does not report it */
	uint64_t sequence;
	const char *function;
	const void *send;
	void *recv;
	size_t count; /* AllGather and Broadcast: bytes, posing as ncclInt8 */
	int root;
	const char *dtype;
};

struct profiler_v2_run {
	uint8_t channels;
	uint8_t warps;
	const char *algorithm;
	const char *protocol;
};

struct profiler_v2_p2p {
	const char *name;
	uint64_t comm_hash;
	const char *function;
	void *buffer;
	const char *dtype;
	size_t count;
	int peer;
};

struct profiler_v2_event {
	uint8_t type;
	void *parent;
	int rank; /* in the communicator; Coll and P2p only */
	union {
		struct {
			struct profiler_v2_coll coll;
			union {
				struct {
					size_t traffic_bytes;
					struct profiler_v2_run run;
				} v2;
				struct profiler_v2_run v3;
			};
		};
		struct profiler_v2_p2p p2p;
	};
};

static_assert(offsetof(struct profiler_v2_event, coll.name) == 24, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.comm_hash) == 32, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.sequence) == 40, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.function) == 48, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.send) == 56, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.recv) == 64, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.count) == 72, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.root) == 80, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, coll.dtype) == 88, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, v2.traffic_bytes) == 96, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, v2.run.channels) == 104, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, v2.run.algorithm) == 112, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, v2.run.protocol) == 120, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, v3.channels) == 96, "NCCL 2.26");
static_assert(offsetof(struct profiler_v2_event, v3.algorithm) == 104, "NCCL 2.26");
static_assert(offsetof(struct profiler_v2_event, v3.protocol) == 112, "NCCL 2.26");
static_assert(offsetof(struct profiler_v2_event, p2p.function) == 40, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, p2p.buffer) == 48, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, p2p.dtype) == 56, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, p2p.count) == 64, "NCCL 2.24");
static_assert(offsetof(struct profiler_v2_event, p2p.peer) == 72, "NCCL 2.24");
static_assert(sizeof(struct profiler_v2_event) == 128, "NCCL 2.24; version 3 ends 8 bytes earlier");

#endif
