/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler plugin interface, versions 4 and 5, as NCCL 2.28.9 calls it: layouts, event types and states. Written
 * from the published interface. Version 5 is what the stand-in works with; version 4 is served by adapter_v4.c.
 */
#ifndef SIM_NCCL_PROFILER_ABI_H
#define SIM_NCCL_PROFILER_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nccl.h>

enum profiler_event {
	EVENT_GROUP = 1 << 0,
	EVENT_COLL = 1 << 1,
	EVENT_P2P = 1 << 2,
	EVENT_PROXY_OP = 1 << 3,
	EVENT_PROXY_STEP = 1 << 4,
	EVENT_PROXY_CTRL = 1 << 5,
	EVENT_KERNEL_CH = 1 << 6,
	EVENT_NET_PLUGIN = 1 << 7,
	EVENT_GROUP_API = 1 << 8,
	EVENT_COLL_API = 1 << 9,
	EVENT_P2P_API = 1 << 10,
	EVENT_KERNEL_LAUNCH = 1 << 11,
};

enum profiler_state {
	STATE_KERNEL_CH_STOP = 22,
	STATE_GROUP_START_API_STOP = 23,
	STATE_GROUP_END_API_START = 24,
};

union profiler_state_args {
	size_t bytes;
	void *data;
	uint64_t timer;
};

struct event_coll_v4 {
	uint64_t sequence;
	const char *function;
	const void *send;
	void *recv;
	size_t count;
	int root;
	const char *type;
	uint8_t channels, warps;
	const char *algorithm, *protocol;
};

struct event_p2p_v4 {
	const char *function;
	void *buffer;
	const char *type;
	size_t count;
	int peer;
	uint8_t channels;
};

struct event_kernel_ch {
	uint8_t channel;
	uint64_t timer;
};

struct event_v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct event_coll_v4 coll;
		struct event_p2p_v4 p2p;
		struct event_kernel_ch kernel_ch;
		uint64_t room[10];
	};
};

struct event_v5 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool captured;
			int depth;
		} group_api;
		struct {
			const char *function;
			size_t count;
			const char *type;
			int root;
			void *stream;
			bool captured;
		} coll_api;
		struct {
			const char *function;
			size_t count;
			const char *type;
			void *stream;
			bool captured;
		} p2p_api;
		struct {
			void *stream;
		} kernel_launch;
		struct {
			struct event_coll_v4 v4;
			void *group;
		} coll;
		struct {
			struct event_p2p_v4 v4;
			void *group;
		} p2p;
		struct event_kernel_ch kernel_ch;
		uint64_t room[11];
	};
};

_Static_assert(sizeof(struct event_v4) == 104 && sizeof(struct event_v5) == 112, "sizes of the interface");
_Static_assert(offsetof(struct event_v5, group_api.depth) == 28, "groupApi.groupDepth");
_Static_assert(offsetof(struct event_v5, coll_api.stream) == 56, "collApi.stream");
_Static_assert(offsetof(struct event_v5, p2p_api.stream) == 48, "p2pApi.stream");
_Static_assert(offsetof(struct event_v5, kernel_launch.stream) == 24, "kernelLaunch.stream");
_Static_assert(offsetof(struct event_v5, coll.v4.channels) == 80, "coll.nChannels");
_Static_assert(offsetof(struct event_v5, coll.v4.protocol) == 96, "coll.proto");
_Static_assert(offsetof(struct event_v5, coll.group) == 104, "coll.parentGroup");
_Static_assert(offsetof(struct event_v5, p2p.v4.peer) == 56, "p2p.peer");
_Static_assert(offsetof(struct event_v5, p2p.group) == 64, "p2p.parentGroup");
_Static_assert(offsetof(struct event_v5, kernel_ch.timer) == 32, "kernelCh.pTimer");
_Static_assert(offsetof(struct event_v4, coll.protocol) == 96, "coll.proto");

typedef void profiler_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);

struct profiler_v5 {
	const char *name;
	ncclResult_t (*init)(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nodes, int nranks,
			     int rank, profiler_log *log);
	ncclResult_t (*start_event)(void *context, void **handle, struct event_v5 *event);
	ncclResult_t (*stop_event)(void *handle);
	ncclResult_t (*record_state)(void *handle, enum profiler_state state, union profiler_state_args *args);
	ncclResult_t (*finalize)(void *context);
};

struct profiler_v4 {
	const char *name;
	ncclResult_t (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
			     int nranks, int rank, profiler_log *log);
	ncclResult_t (*start_event)(void *context, void **handle, struct event_v4 *event);
	ncclResult_t (*stop_event)(void *handle);
	ncclResult_t (*record_state)(void *handle, enum profiler_state state, union profiler_state_args *args);
	ncclResult_t (*finalize)(void *context);
};

#endif
