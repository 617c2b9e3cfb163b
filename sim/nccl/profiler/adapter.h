/* SPDX-License-Identifier: MIT */
/*
 * Speaks to a profiler plugin in its own version of the interface: as the release does whose newest version that is,
 * or as a newer one that serves older plugins. What NCCL leaves uninitialised then is filled with ADAPTER_POISON.
 */
#ifndef SIM_NCCL_PROFILER_ADAPTER_H
#define SIM_NCCL_PROFILER_ADAPTER_H

#include "sim/nccl/profiler/profiler_abi_v1.h"

#define ADAPTER_POISON 0xa5

/* What the stand-in knows of an event: the newest layout, and what only versions 1 to 3 say. */
struct event {
	struct event_v7 v7;
	const char *comm_name; /* NULL: none */
	uint64_t comm_hash;
	size_t traffic;
	ncclDataType_t type_number;
	ncclRedOp_t op;
};

union adapter_event {
	struct event_v1 v1;
	struct event_v2 v2;
	struct event_v3 v3;
	struct event_v7 v7; /* and 4 to 6, which end earlier */
};

struct adapter {
	int version;
	const char *symbol;
	/* Writes the event as this version has it. False: it has no such event. native_abi: the release's own version.
	 */
	bool (*convert)(const struct event *event, int native_abi, union adapter_event *out);
	uint32_t states;     /* bits of those that the adapter of a newer release passes on */
	int lost_mask;       /* bits that it takes out of the plugin's mask */
};

/* Newest first; ends with version 0. */
extern const struct adapter adapters[];

bool adapter_convert_v1(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v2(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v3(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v4(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v5(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v6(const struct event *event, int native_abi, union adapter_event *out);
bool adapter_convert_v7(const struct event *event, int native_abi, union adapter_event *out);

void adapter_start(const struct adapter *adapter, const struct profiler_table *table, void *context, void **handle,
		   const struct event *event);
/* args: NULL where NCCL gives none. */
void adapter_record(const struct adapter *adapter, const struct profiler_table *table, void *handle,
		    enum profiler_state state, const struct profiler_state_args *args);

#endif
