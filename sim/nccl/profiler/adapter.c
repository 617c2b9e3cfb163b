/* SPDX-License-Identifier: MIT */
#include "sim/nccl/profiler/adapter.h"

#include <string.h>

#include "sim/nccl/release.h"

#define STATES(first, last) ((uint32_t)((2ull << (last)) - (1ull << (first))))
#define STEP_STATES         STATES(STATE_SEND_GPU_WAIT, STATE_RECV_GPU_WAIT)
#define CONTROL_STATES      STATES(STATE_IDLE, STATE_APPEND_END)
#define STATES_V4           (STATES(STATE_SEND_GPU_WAIT, STATE_KERNEL_CH_STOP))
#define STATES_V5           (STATES(STATE_SEND_GPU_WAIT, STATE_GROUP_END_API_START))
#define BARE_STATES \
	(1u << STATE_IN_PROGRESS | 1u << STATE_GROUP_START_API_STOP | 1u << STATE_GROUP_END_API_START)
#define EVENTS_V6           (EVENT_CE_COLL | EVENT_CE_SYNC | EVENT_CE_BATCH)

const struct adapter adapters[] = {
	{ .version = 7, .symbol = "ncclProfiler_v7", .convert = adapter_convert_v7 },
	{ .version = 6,
	  .symbol = "ncclProfiler_v6",
	  .convert = adapter_convert_v6,
	  .states = STATES_V5,
	  .lost_mask = EVENT_KERNEL_PHASE },
	{ .version = 5,
	  .symbol = "ncclProfiler_v5",
	  .convert = adapter_convert_v5,
	  .states = STATES_V5,
	  .lost_mask = EVENTS_V6 | EVENT_KERNEL_PHASE },
	{ .version = 4, .symbol = "ncclProfiler_v4", .convert = adapter_convert_v4, .states = STATES_V4 },
	{ .version = 3,
	  .symbol = "ncclProfiler_v3",
	  .convert = adapter_convert_v3,
	  .states = STEP_STATES | CONTROL_STATES },
	{ .version = 2,
	  .symbol = "ncclProfiler_v2",
	  .convert = adapter_convert_v2,
	  .states = STEP_STATES | CONTROL_STATES },
	{ .version = 1,
	  .symbol = "ncclProfiler_v1",
	  .convert = adapter_convert_v1,
	  .states = STEP_STATES | CONTROL_STATES },
	{ .version = 0 },
};

void adapter_start(const struct adapter *adapter, const struct profiler_table *table, void *context, void **handle,
		   const struct event *event)
{
	int native_abi = release()->profiler_abi;
	union adapter_event out;

	memset(&out, ADAPTER_POISON, sizeof(out));
	if (adapter->convert(event, native_abi, &out))
		table->start_event(context, handle, &out);
}

/* Only the member that the state is about is copied. Up to version 3 ProxyStep has none, and the rest is zero. */
static void copy_args(struct profiler_state_args *out, int version, enum profiler_state state,
		      const struct profiler_state_args *args)
{
	uint32_t bit = 1u << state;

	memset(out, version <= 3 ? 0 : ADAPTER_POISON, sizeof(*out));
	if (bit & CONTROL_STATES)
		out->appended = args->appended;
	else if (version > 3 && !(bit & BARE_STATES))
		out->timer = args->timer;
}

/* Up to NCCL 2.26 the arguments of all versions are the same, and go straight through. */
void adapter_record(const struct adapter *adapter, const struct profiler_table *table, void *handle,
		    enum profiler_state state, const struct profiler_state_args *args)
{
	int native_abi = release()->profiler_abi;
	struct profiler_state_args out;

	if (native_abi == adapter->version || native_abi <= 3) {
		if (args)
			out = *args;
		table->record_state(handle, state, args ? &out : NULL);
		return;
	}
	if (!(adapter->states >> state & 1))
		return;
	copy_args(&out, adapter->version, state, args);
	table->record_state(handle, state, &out);
}
