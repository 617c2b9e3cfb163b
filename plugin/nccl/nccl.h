/* SPDX-License-Identifier: MIT */
/*
 * The part of NCCL's public interface that the interposer replaces or queries. Declarations of our own, the same for
 * all releases since 2.14: what was added later was added at the end of ncclConfig_t, whose first member is its size.
 * tests/preload/nccl_interface.c compares them with nccl.h where that is installed.
 */
#ifndef PLUGIN_NCCL_NCCL_H
#define PLUGIN_NCCL_NCCL_H

#include <stddef.h>

enum { NCCL_SUCCESS = 0, NCCL_SYSTEM_ERROR = 2, NCCL_IN_PROGRESS = 7 };
enum { NCCL_SUSPEND_MEMORY = 1 }; /* a flag */
enum { NCCL_CONFIG_UNDEFINED = -2147483647 - 1, NCCL_SPLIT_NO_COLOR = -1 };

typedef void *nccl_comm;
typedef void *nccl_stream;

struct nccl_unique_id {
	char bytes[128];
};

struct nccl_config {
	size_t size;
	unsigned int magic, version;
	int blocking;
	int cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int split_share;
	int traffic_class; /* 2.26 */
	const char *name;  /* 2.27 */
};

/* Functions of NCCL, by name without "nccl". Those from CommCount on are only called, not replaced. */
#define NCCL_FUNCTIONS(X)                                                                                              \
	X(AllReduce)                                                                                                   \
	X(Broadcast)                                                                                                   \
	X(Bcast)                                                                                                       \
	X(Reduce)                                                                                                      \
	X(AllGather)                                                                                                   \
	X(ReduceScatter)                                                                                               \
	X(AlltoAll)                                                                                                    \
	X(Gather)                                                                                                      \
	X(Scatter)                                                                                                     \
	X(AllReduceConfig)                                                                                             \
	X(BroadcastConfig)                                                                                             \
	X(ReduceConfig)                                                                                                \
	X(AllGatherConfig)                                                                                             \
	X(ReduceScatterConfig)                                                                                         \
	X(AlltoAllConfig)                                                                                              \
	X(GatherConfig)                                                                                                \
	X(ScatterConfig)                                                                                               \
	X(Send)                                                                                                        \
	X(Recv)                                                                                                        \
	X(PutSignal)                                                                                                   \
	X(Signal)                                                                                                      \
	X(WaitSignal)                                                                                                  \
	X(GroupStart)                                                                                                  \
	X(GroupEnd)                                                                                                    \
	X(GroupSimulateEnd)                                                                                            \
	X(CommInitRank)                                                                                                \
	X(CommInitRankConfig)                                                                                          \
	X(CommInitRankScalable)                                                                                        \
	X(CommInitAll)                                                                                                 \
	X(CommSplit)                                                                                                   \
	X(CommShrink)                                                                                                  \
	X(CommGrow)                                                                                                    \
	X(CommRevoke)                                                                                                  \
	X(CommSuspend)                                                                                                 \
	X(CommResume)                                                                                                  \
	X(CommDestroy)                                                                                                 \
	X(CommAbort)                                                                                                   \
	X(CommGetAsyncError)                                                                                           \
	X(CommCount)                                                                                                   \
	X(CommUserRank)                                                                                                \
	X(CommCuDevice)

enum nccl_function {
#define X(name) NCCL_##name,
	NCCL_FUNCTIONS(X)
#undef X
	NCCL_FUNCTION_COUNT,
};

typedef void nccl_any_function(void);

#endif
