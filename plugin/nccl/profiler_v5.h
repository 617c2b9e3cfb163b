/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler interface, version 5 (NCCL 2.28), as far as we read it. Versions 6 (2.29) and 7 (2.31) only append
 * fields to the members of the union, so that one reader of these prefixes serves all three. Offsets: LP64.
 */
#ifndef PLUGIN_NCCL_PROFILER_V5_H
#define PLUGIN_NCCL_PROFILER_V5_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/nccl/profiler.h"

struct profiler_v5_group_api {
	bool captured;
	int depth;
};

struct profiler_v5_coll_api {
	const char *function;
	size_t count;
	const char *dtype;
	int root;
	void *stream;
	bool captured;
};

struct profiler_v5_p2p_api {
	const char *function;
	size_t count;
	const char *dtype;
	void *stream;
	bool captured;
};

struct profiler_v5_kernel_launch {
	void *stream;
};

struct profiler_v5_coll {
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
	void *group;
};

struct profiler_v5_p2p {
	const char *function;
	void *buffer;
	const char *dtype;
	size_t count;
	int peer;
	uint8_t channels;
	void *group;
};

/* Version 6 and up: a collective on the copy engines, before it is submitted. */
struct profiler_v6_ce_coll {
	uint64_t sequence; /* synchronisations so far: jumps from one collective to the next */
	const char *function;
	const void *send;
	void *recv;
	size_t count;
	int root;
	const char *dtype;
	const char *synchronisation;
	bool intra_batch;
	uint32_t batch_size, batches, ce_sequence;
	void *stream;
};

/* Version 7: what the program attached to its calls; 0 nothing. */
struct profiler_v7_coll_api {
	struct profiler_v5_coll_api call;
	uint64_t user_tag;
};

struct profiler_v7_p2p_api {
	struct profiler_v5_p2p_api call;
	uint64_t user_tag;
};

struct profiler_v5_event {
	uint64_t type;
	void *parent;
	int rank; /* not filled in API, launch and group events */
	union {
		struct profiler_v5_group_api group_api;
		struct profiler_v5_coll_api coll_api;
		struct profiler_v5_p2p_api p2p_api;
		struct profiler_v7_coll_api coll_api_v7;
		struct profiler_v7_p2p_api p2p_api_v7;
		struct profiler_v5_kernel_launch launch;
		struct profiler_v5_coll coll;
		struct profiler_v5_p2p p2p;
		struct profiler_kernel_ch kernel_ch;
		struct profiler_v6_ce_coll ce_coll;
	};
};

struct profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nnodes, int nranks,
		    int rank, profiler_log *log);
	int (*start_event)(void *context, void **handle, struct profiler_v5_event *event);
	int (*stop_event)(void *handle);
	int (*record_event_state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

static_assert(offsetof(struct profiler_v5_event, parent) == 8, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, rank) == 16, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, group_api.captured) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, group_api.depth) == 28, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.function) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.count) == 32, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.dtype) == 40, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.root) == 48, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.stream) == 56, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll_api.captured) == 64, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p_api.function) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p_api.count) == 32, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p_api.dtype) == 40, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p_api.stream) == 48, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p_api.captured) == 56, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, launch.stream) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.sequence) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.function) == 32, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.send) == 40, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.recv) == 48, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.count) == 56, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.root) == 64, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.dtype) == 72, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.channels) == 80, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.algorithm) == 88, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.protocol) == 96, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, coll.group) == 104, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.function) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.buffer) == 32, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.dtype) == 40, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.count) == 48, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.peer) == 56, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.channels) == 60, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, p2p.group) == 64, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, kernel_ch.channel) == 24, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, kernel_ch.timer) == 32, "NCCL 2.28");
static_assert(offsetof(struct profiler_v5_event, ce_coll.sequence) == 24, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.send) == 40, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.recv) == 48, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.count) == 56, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.dtype) == 72, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.batch_size) == 92, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, ce_coll.stream) == 104, "NCCL 2.29");
static_assert(offsetof(struct profiler_v5_event, coll_api_v7.user_tag) == 72, "NCCL 2.31");
static_assert(offsetof(struct profiler_v5_event, p2p_api_v7.user_tag) == 64, "NCCL 2.31");
static_assert(sizeof(struct profiler_v5_event) == 112, "NCCL 2.28");
static_assert(sizeof(struct profiler_v5) == 48, "NCCL 2.28");

#endif
