/* SPDX-License-Identifier: MIT */
/* Version 1: NCCL 2.23. Numbers instead of names; no API events, no streams, no identity before the first event. */
#include "plugin/abi/adapter.h"
#include "plugin/nccl/profiler_v1.h"

#include <rankwatch/operation.h>

/* ncclFunc_t of 2.23. */
static uint8_t function_of(uint8_t number)
{
	static const uint8_t functions[] = {
		RW_FUNCTION_BROADCAST,  RW_FUNCTION_REDUCE,    RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
		RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_SEND_RECV, RW_FUNCTION_SEND,       RW_FUNCTION_RECV,
	};

	return number < sizeof(functions) ? functions[number] : RW_FUNCTION_UNKNOWN;
}

/* Types, algorithms and protocols have NCCL's numbers + 1 in the box, and did not change since. */
static uint8_t shifted(uint8_t number, uint8_t last)
{
	return number < last ? (uint8_t)(number + 1) : 0;
}

static int init(void **context, int *mask)
{
	static adapter_masks masks = { 0, PROFILER_OPERATIONS, PROFILER_OPERATIONS };
	struct communicator_init communicator = { .abi = 1, .caller = __builtin_return_address(0) };

	return adapter_init(&communicator, NULL, masks, context, mask);
}

static struct reported_bare_task decode_coll(const struct profiler_v1_event *descriptor)
{
	const struct profiler_v1_coll *coll = &descriptor->coll;
	uint8_t function = function_of(coll->function);

	return (struct reported_bare_task){
		.identity = { coll->comm_hash, coll->name, descriptor->rank },
		.call = {
			.function = function,
			.dtype = adapter_task_dtype(function, shifted(coll->dtype, RW_DTYPE_BFLOAT16)),
			.root = coll->root,
			.count = coll->count,
		},
		.task = {
			.nccl_sequence = coll->sequence,
			.send = (uintptr_t)coll->send,
			.recv = (uintptr_t)coll->recv,
			.peer = -1,
			.algorithm = shifted(coll->algorithm, RW_ALGORITHM_PAT),
			.protocol = shifted(coll->protocol, RW_PROTOCOL_SIMPLE),
			.channels = coll->channels,
		},
	};
}

static struct reported_bare_task decode_p2p(const struct profiler_v1_event *descriptor)
{
	const struct profiler_v1_p2p *p2p = &descriptor->p2p;
	uint8_t function = function_of(p2p->function);

	return (struct reported_bare_task){
		.identity = { p2p->comm_hash, p2p->name, descriptor->rank },
		.call = {
			.function = function,
			.dtype = shifted(p2p->dtype, RW_DTYPE_BFLOAT16),
			.root = -1,
			.count = p2p->count,
		},
		.task = {
			.send = function == RW_FUNCTION_SEND ? (uintptr_t)p2p->buffer : 0,
			.recv = function == RW_FUNCTION_RECV ? (uintptr_t)p2p->buffer : 0,
			.peer = p2p->peer,
		},
	};
}

static void *start(void *context, void *parent, const void *argument)
{
	const struct profiler_v1_event *descriptor = argument;
	struct reported_bare_task task;

	if (descriptor->type == PROFILER_GROUP)
		return recorder_start_plan(context);
	if (descriptor->type == PROFILER_COLL)
		task = decode_coll(descriptor);
	else if (descriptor->type == PROFILER_P2P)
		task = decode_p2p(descriptor);
	else
		return adapter_start_proxy(context, parent, descriptor);
	return recorder_start_bare_task(context, &task);
}

/* *handle is always written: NCCL hands it back even for events that we ignore. */
static int start_event(void *context, void **handle, void *descriptor)
{
	*handle = adapter_start_old(context, descriptor, start);
	return PROFILER_SUCCESS;
}

PLUGIN_EXPORT extern const struct profiler_v1 ncclProfiler_v1;
const struct profiler_v1 ncclProfiler_v1 = {
	.name = "rankwatch",
	.init = init,
	.start_event = start_event,
	.stop_event = adapter_stop,
	.record_event_state = adapter_record_state,
	.finalize = adapter_finalize,
};
