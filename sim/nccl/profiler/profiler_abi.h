/* SPDX-License-Identifier: MIT */
/*
 * NCCL's profiler plugin interface from version 4 on: layouts, event types and states, written from the published
 * interface. There is one layout: version 7 appends members to version 6, which is version 5 with three more events,
 * and version 4 is the head of version 5 with its type in one byte and the group as parent of Coll and P2p. Versions
 * 1 to 3 are in profiler_abi_v1.h.
 */
#ifndef SIM_NCCL_PROFILER_PROFILER_ABI_H
#define SIM_NCCL_PROFILER_PROFILER_ABI_H

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
	EVENT_KERNEL_CH = 1 << 6,      /* from version 3 on */
	EVENT_NET_PLUGIN = 1 << 7,     /* 3 */
	EVENT_GROUP_API = 1 << 8,      /* 5 */
	EVENT_COLL_API = 1 << 9,       /* 5 */
	EVENT_P2P_API = 1 << 10,       /* 5 */
	EVENT_KERNEL_LAUNCH = 1 << 11, /* 5 */
	EVENT_CE_COLL = 1 << 12,       /* 6 */
	EVENT_CE_SYNC = 1 << 13,       /* 6 */
	EVENT_CE_BATCH = 1 << 14,      /* 6 */
	EVENT_KERNEL_PHASE = 1 << 15,  /* 7 */
};

enum profiler_state {
	STATE_SEND_POSTED, /* of ProxyOp to RECV_DONE, in versions 1 to 3 */
	STATE_SEND_REM_FIFO_WAIT,
	STATE_SEND_TRANSMITTED,
	STATE_SEND_DONE,
	STATE_RECV_POSTED,
	STATE_RECV_RECEIVED,
	STATE_RECV_TRANSMITTED,
	STATE_RECV_DONE,
	STATE_SEND_GPU_WAIT, /* of ProxyStep to RECV_GPU_WAIT */
	STATE_SEND_WAIT,
	STATE_RECV_WAIT,
	STATE_RECV_FLUSH_WAIT,
	STATE_RECV_GPU_WAIT,
	STATE_IDLE, /* of ProxyCtrl to APPEND_END */
	STATE_ACTIVE,
	STATE_SLEEP,
	STATE_WAKEUP,
	STATE_APPEND,
	STATE_APPEND_END,
	STATE_IN_PROGRESS,    /* ProxyOp, from version 4 on */
	STATE_SEND_PEER_WAIT, /* ProxyStep, 4 */
	STATE_NET_PLUGIN_UPDATE,
	STATE_KERNEL_CH_STOP,
	STATE_GROUP_START_API_STOP,
	STATE_GROUP_END_API_START,
	STATE_KERNEL_PHASE_STOP = 31,
};

/* Versions 1 to 3 have all of it, later ones the union. */
struct profiler_state_args {
	union {
		size_t bytes;   /* ProxyStep; ProxyOp in versions 1 to 3 */
		int appended;   /* ProxyCtrl */
		void *data;     /* NetPlugin */
		uint64_t timer; /* KernelCh, KernelPhase */
	};
	int steps; /* ProxyOp in versions 1 to 3 */
};

struct event_proxy_op {
	int pid;
	uint8_t channel;
	int peer, steps, chunk_bytes, is_send;
};

struct event_proxy_step {
	int step;
};

struct event_net_plugin {
	int64_t id;
	void *data;
};

struct event_v7 {
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
			uint64_t user_tag; /* 7 */
		} coll_api;
		struct {
			const char *function;
			size_t count;
			const char *type;
			void *stream;
			bool captured;
			uint64_t user_tag; /* 7 */
		} p2p_api;
		struct {
			void *stream;
		} kernel_launch;
		struct {
			uint64_t sequence;
			const char *function;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
			void *group;                /* 5 */
			const char *kernel_variant; /* 7 */
			bool symmetric;             /* 7 */
			uint64_t user_tag;          /* 7 */
		} coll;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;       /* 5 */
			uint64_t user_tag; /* 7 */
		} p2p;
		struct event_proxy_op proxy_op;
		struct event_proxy_step proxy_step;
		struct {
			uint8_t channel;
			uint64_t timer; /* 4 */
		} kernel_ch;
		struct event_net_plugin net_plugin;
		struct {
			uint64_t sequence;
			const char *function;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *type, *strategy;
			bool intra_batch_sync;
			uint32_t batch_size, batches, ce_sequence;
			void *stream;
			uint64_t user_tag; /* 7 */
		} ce_coll;
		struct {
			bool complete;
			int nranks;
		} ce_sync;
		struct {
			int operations;
			size_t bytes;
			bool intra_sync;
		} ce_batch;
		struct {
			uint8_t channel, phase;
			const char *name;
			uint64_t timer;
		} kernel_phase;
	};
};

#define EVENT_V4_BYTES 104
#define EVENT_V5_BYTES 112 /* and version 6 */

_Static_assert(sizeof(struct event_v7) == 136, "size of version 7");
_Static_assert(offsetof(struct event_v7, group_api.depth) == 28, "groupApi.groupDepth");
_Static_assert(offsetof(struct event_v7, coll_api.stream) == 56, "collApi.stream");
_Static_assert(offsetof(struct event_v7, coll_api.user_tag) == 72, "collApi.userTag");
_Static_assert(offsetof(struct event_v7, p2p_api.stream) == 48, "p2pApi.stream");
_Static_assert(offsetof(struct event_v7, p2p_api.user_tag) == 64, "p2pApi.userTag");
_Static_assert(offsetof(struct event_v7, kernel_launch.stream) == 24, "kernelLaunch.stream");
_Static_assert(offsetof(struct event_v7, coll.root) == 64, "coll.root");
_Static_assert(offsetof(struct event_v7, coll.channels) == 80, "coll.nChannels");
_Static_assert(offsetof(struct event_v7, coll.protocol) == 96, "coll.proto");
_Static_assert(offsetof(struct event_v7, coll.group) == 104, "coll.parentGroup");
_Static_assert(offsetof(struct event_v7, coll.kernel_variant) == 112, "coll.kernelVariant");
_Static_assert(offsetof(struct event_v7, coll.symmetric) == 120, "coll.isSymColl");
_Static_assert(offsetof(struct event_v7, coll.user_tag) == 128, "coll.userTag");
_Static_assert(offsetof(struct event_v7, p2p.peer) == 56, "p2p.peer");
_Static_assert(offsetof(struct event_v7, p2p.channels) == 60, "p2p.nChannels");
_Static_assert(offsetof(struct event_v7, p2p.group) == 64, "p2p.parentGroup");
_Static_assert(offsetof(struct event_v7, p2p.user_tag) == 72, "p2p.userTag");
_Static_assert(offsetof(struct event_v7, proxy_op.channel) == 28, "proxyOp.channelId");
_Static_assert(offsetof(struct event_v7, proxy_op.is_send) == 44, "proxyOp.isSend");
_Static_assert(offsetof(struct event_v7, kernel_ch.timer) == 32, "kernelCh.pTimer");
_Static_assert(offsetof(struct event_v7, net_plugin.data) == 32, "netPlugin.data");
_Static_assert(offsetof(struct event_v7, ce_coll.strategy) == 80, "ceColl.syncStrategy");
_Static_assert(offsetof(struct event_v7, ce_coll.batch_size) == 92, "ceColl.batchSize");
_Static_assert(offsetof(struct event_v7, ce_coll.stream) == 104, "ceColl.stream");
_Static_assert(offsetof(struct event_v7, ce_coll.user_tag) == 112, "ceColl.userTag");
_Static_assert(offsetof(struct event_v7, ce_sync.nranks) == 28, "ceCollSync.nRanks");
_Static_assert(offsetof(struct event_v7, ce_batch.intra_sync) == 40, "ceCollBatch.useIntraSync");
_Static_assert(offsetof(struct event_v7, kernel_phase.timer) == 40, "kernelPhase.pTimer");
_Static_assert(offsetof(struct profiler_state_args, steps) == 8, "proxyOp.steps");

typedef void profiler_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);

typedef ncclResult_t profiler_init_v1(void **context, int *mask); /* to version 3 */
typedef ncclResult_t profiler_init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes,
				      int nranks, int rank, profiler_log *log);
typedef ncclResult_t profiler_init_v5(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes,
				      int nranks, int rank, profiler_log *log); /* and later */

/* What a plugin exports as ncclProfiler_vN: only init differs between versions, and what an event points to. */
struct profiler_table {
	const char *name;
	union {
		profiler_init_v1 *v1;
		profiler_init_v4 *v4;
		profiler_init_v5 *v5;
	} init;
	ncclResult_t (*start_event)(void *context, void **handle, void *event);
	ncclResult_t (*stop_event)(void *handle);
	ncclResult_t (*record_state)(void *handle, enum profiler_state state, struct profiler_state_args *args);
	ncclResult_t (*finalize)(void *context);
};

#endif
