/* SPDX-License-Identifier: MIT */
/* What all versions of NCCL's profiler interface share. Values are NCCL's and fixed for ever. */
#ifndef PLUGIN_NCCL_PROFILER_H
#define PLUGIN_NCCL_PROFILER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* NCCL's logger: level, subsystem, file, line, printf format. We never call it: it may allocate and lock. */
typedef void profiler_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);

enum { PROFILER_SUCCESS = 0 };

/* Bits of the activation mask and of event.type. */
enum profiler_event_type {
	PROFILER_GROUP = 1 << 0, /* one kernel plan */
	PROFILER_COLL = 1 << 1,
	PROFILER_P2P = 1 << 2,
	PROFILER_PROXY_OP = 1 << 3,
	PROFILER_PROXY_STEP = 1 << 4,
	PROFILER_PROXY_CTRL = 1 << 5,
	PROFILER_KERNEL_CH = 1 << 6,
	PROFILER_NET_PLUGIN = 1 << 7,
	PROFILER_GROUP_API = 1 << 8,
	PROFILER_COLL_API = 1 << 9,
	PROFILER_P2P_API = 1 << 10,
	PROFILER_KERNEL_LAUNCH = 1 << 11,
	PROFILER_CE_COLL = 1 << 12, /* on a copy engine */
	PROFILER_CE_SYNC = 1 << 13,
	PROFILER_CE_BATCH = 1 << 14,
	PROFILER_KERNEL_PHASE = 1 << 15,
	/* What every version has of an operation. */
	PROFILER_OPERATIONS = PROFILER_GROUP | PROFILER_COLL | PROFILER_P2P,
};

/* recordEventState: other states' arguments can be NULL, or garbage where an adapter of NCCL's is in between. */
enum {
	PROFILER_KERNEL_CH_STOP = 22,
	PROFILER_GROUP_START_API_STOP = 23, /* of GroupApi, from v5 on */
	PROFILER_GROUP_END_API_START = 24,  /* of GroupApi, from v5 on */
};

union profiler_state_arguments {
	uint64_t timer; /* KERNEL_CH_STOP; %globaltimer */
	uint64_t bytes; /* ProxyStep */
};

/* The same in all versions. */
struct profiler_proxy_op {
	int pid; /* whose it is; another's with PXN */
	uint8_t channel;
	int peer;
	int steps, step_bytes;
	int is_send; /* 1: a send over the network; 0: a receive, or no network at all */
};

/* What all versions have at the same place, behind the event's type. */
struct profiler_head {
	uint8_t type; /* its lowest byte */
	void *parent;
	int rank;
	_Alignas(8) union {
		struct profiler_proxy_op proxy_op;
		int step; /* ProxyStep */
	};
};
static_assert(offsetof(struct profiler_head, proxy_op.pid) == 24, "NCCL 2.23");
static_assert(offsetof(struct profiler_head, proxy_op.channel) == 28, "NCCL 2.23");
static_assert(offsetof(struct profiler_head, proxy_op.peer) == 32, "NCCL 2.23");
static_assert(offsetof(struct profiler_head, proxy_op.step_bytes) == 40, "NCCL 2.23");
static_assert(offsetof(struct profiler_head, proxy_op.is_send) == 44, "NCCL 2.23");
static_assert(offsetof(struct profiler_head, step) == 24, "NCCL 2.23");

/* One channel of a task's kernel, the same from version 4 on. */
struct profiler_kernel_ch {
	uint8_t channel;
	uint64_t timer; /* %globaltimer */
};

#endif
