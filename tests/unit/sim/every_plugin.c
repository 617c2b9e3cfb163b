/* SPDX-License-Identifier: MIT */
/* Exports every version of the profiler interface, and knows by which one it was called. */
#include <stdlib.h>

#include "sim/nccl/profiler/profiler_abi.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int every_plugin_version(void);
static int version;

int every_plugin_version(void)
{
	return version;
}

static ncclResult_t ignore_event(void *context, void **handle, void *event)
{
	(void)context, (void)event;
	*handle = NULL;
	return ncclSuccess;
}

static ncclResult_t ignore(void *handle)
{
	(void)handle;
	return ncclSuccess;
}

static ncclResult_t ignore_state(void *handle, enum profiler_state state, struct profiler_state_args *args)
{
	(void)handle, (void)state, (void)args;
	return ncclSuccess;
}

static ncclResult_t called(int by, void **context, int *mask)
{
	version = by;
	*context = &version;
	*mask = 0;
	return ncclSuccess;
}

#define INIT_V1(abi)                                                                                                   \
	static ncclResult_t init_v##abi(void **context, int *mask)                                                     \
	{                                                                                                              \
		return called(abi, context, mask);                                                                     \
	}
#define INIT_V5(abi)                                                                                                   \
	static ncclResult_t init_v##abi(void **context, uint64_t comm_hash, int *mask, const char *comm_name,          \
					int nodes, int nranks, int rank, profiler_log *log)                            \
	{                                                                                                              \
		(void)comm_hash, (void)comm_name, (void)nodes, (void)nranks, (void)rank, (void)log;                    \
		return called(abi, context, mask);                                                                     \
	}
#define TABLE(abi, member)                                                                                             \
	EXPORT extern struct profiler_table ncclProfiler_v##abi;                                                       \
	struct profiler_table ncclProfiler_v##abi = { "every",      { .member = init_v##abi },                         \
						      ignore_event, ignore,                                            \
						      ignore_state, ignore };

static ncclResult_t init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int nranks,
			    int rank, profiler_log *log)
{
	(void)comm_name, (void)comm_hash, (void)nodes, (void)nranks, (void)rank, (void)log;
	return called(4, context, mask);
}

INIT_V1(1)
INIT_V1(2)
INIT_V1(3)
INIT_V5(5)
INIT_V5(6)
INIT_V5(7)
TABLE(1, v1)
TABLE(2, v1)
TABLE(3, v1)
TABLE(4, v4)
TABLE(5, v5)
TABLE(6, v5)
TABLE(7, v5)

/* So that it passes for a network plugin, too: only the name is looked for. */
EXPORT extern int ncclNet_v10;
int ncclNet_v10;
