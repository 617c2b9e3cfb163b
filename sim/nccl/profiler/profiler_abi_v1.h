/* SPDX-License-Identifier: MIT */
/*
 * Versions 1 to 3 of NCCL's profiler plugin interface: the communicator's name and hash are in the events and not in
 * init; names are numbers in version 1 and text from version 2 on. Event types, states and the events of the proxy
 * are those of profiler_abi.h. Version 2 has the P2p of version 3, version 3 also has KernelCh and NetPlugin.
 */
#ifndef SIM_NCCL_PROFILER_PROFILER_ABI_V1_H
#define SIM_NCCL_PROFILER_PROFILER_ABI_V1_H

#include "sim/nccl/profiler/profiler_abi.h"

/* Where each name is in the enumerations of NCCL 2.23: functions, algorithms and protocols of version 1. */
#define V1_FUNCTIONS                                                                                                   \
	{                                                                                                              \
		"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"           \
	}
#define V1_ALGORITHMS                                                                                                  \
	{                                                                                                              \
		"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"                          \
	}
#define V1_PROTOCOLS                                                                                                   \
	{                                                                                                              \
		"LL", "LL128", "SIMPLE"                                                                                \
	}

struct event_v1 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *comm_name;
			uint64_t comm_hash, sequence;
			uint8_t function;
			const void *send;
			void *recv;
			size_t count;
			int root;
			uint8_t type; /* ncclDataType_t */
			uint32_t op;  /* ncclRedOp_t */
			size_t traffic;
			uint8_t channels, warps, algorithm, protocol;
			int collnet, nvls;
		} coll;
		struct {
			const char *comm_name;
			uint64_t comm_hash;
			uint8_t function;
			void *buffer;
			uint8_t type;
			size_t count;
			int peer;
		} p2p;
		struct event_proxy_op proxy_op;
		struct event_proxy_step proxy_step;
	};
};

struct event_v2_p2p {
	const char *comm_name;
	uint64_t comm_hash;
	const char *function;
	void *buffer;
	const char *type;
	size_t count;
	int peer;
};

struct event_v2 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *comm_name;
			uint64_t comm_hash, sequence;
			const char *function;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *type;
			size_t traffic;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll;
		struct event_v2_p2p p2p;
		struct event_proxy_op proxy_op;
		struct event_proxy_step proxy_step;
	};
};

struct event_v3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *comm_name;
			uint64_t comm_hash, sequence;
			const char *function;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll;
		struct event_v2_p2p p2p;
		struct event_proxy_op proxy_op;
		struct event_proxy_step proxy_step;
		struct {
			uint8_t channel;
		} kernel_ch;
		struct event_net_plugin net_plugin;
	};
};

_Static_assert(sizeof(struct event_v1) == 120, "size of version 1");
_Static_assert(offsetof(struct event_v1, coll.sequence) == 40, "coll.seqNumber");
_Static_assert(offsetof(struct event_v1, coll.function) == 48, "coll.func");
_Static_assert(offsetof(struct event_v1, coll.send) == 56, "coll.sendBuff");
_Static_assert(offsetof(struct event_v1, coll.root) == 80, "coll.root");
_Static_assert(offsetof(struct event_v1, coll.type) == 84, "coll.datatype");
_Static_assert(offsetof(struct event_v1, coll.op) == 88, "coll.op");
_Static_assert(offsetof(struct event_v1, coll.traffic) == 96, "coll.trafficBytes");
_Static_assert(offsetof(struct event_v1, coll.protocol) == 107, "coll.proto");
_Static_assert(offsetof(struct event_v1, coll.nvls) == 112, "coll.isNvls");
_Static_assert(offsetof(struct event_v1, p2p.function) == 40, "p2p.func");
_Static_assert(offsetof(struct event_v1, p2p.type) == 56, "p2p.datatype");
_Static_assert(offsetof(struct event_v1, p2p.peer) == 72, "p2p.peer");
_Static_assert(sizeof(struct event_v2) == 128, "size of version 2");
_Static_assert(offsetof(struct event_v2, coll.type) == 88, "coll.datatype");
_Static_assert(offsetof(struct event_v2, coll.traffic) == 96, "coll.trafficBytes");
_Static_assert(offsetof(struct event_v2, coll.warps) == 105, "coll.nWarps");
_Static_assert(offsetof(struct event_v2, coll.protocol) == 120, "coll.proto");
_Static_assert(offsetof(struct event_v2, p2p.type) == 56, "p2p.datatype");
_Static_assert(offsetof(struct event_v2, p2p.peer) == 72, "p2p.peer");
_Static_assert(sizeof(struct event_v3) == 120, "size of version 3");
_Static_assert(offsetof(struct event_v3, coll.channels) == 96, "coll.nMaxChannels");
_Static_assert(offsetof(struct event_v3, coll.protocol) == 112, "coll.proto");
_Static_assert(offsetof(struct event_v3, kernel_ch.channel) == 24, "kernelCh.channelId");
_Static_assert(offsetof(struct event_v3, net_plugin.data) == 32, "netPlugin.data");

#endif
