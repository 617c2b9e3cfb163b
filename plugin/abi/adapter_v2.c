/* SPDX-License-Identifier: MIT */
/* Versions 2 and 3: NCCL 2.24 to 2.26. No API events, no streams, no identity before the first event. Version 3 has
 * KernelCh, but without times: not asked for. */
#include "plugin/abi/adapter.h"
#include "plugin/nccl/names.h"
#include "plugin/nccl/profiler_v2.h"

#include <rankwatch/operation.h>

static int init(uint32_t abi, const void *caller, void **context, int *mask)
{
	static adapter_masks masks = { 0, PROFILER_OPERATIONS, PROFILER_OPERATIONS };
	struct communicator_init communicator = { .abi = abi, .caller = caller };

	return adapter_init(&communicator, NULL, masks, context, mask);
}

static int init_v2(void **context, int *mask)
{
	return init(2, __builtin_return_address(0), context, mask);
}

static int init_v3(void **context, int *mask)
{
	return init(3, __builtin_return_address(0), context, mask);
}

static struct reported_bare_task decode_coll(const struct profiler_v2_event *descriptor,
					     const struct profiler_v2_run *run)
{
	const struct profiler_v2_coll *coll = &descriptor->coll;
	uint8_t function = names_function(coll->function);

	return (struct reported_bare_task){
		.identity = { coll->comm_hash, coll->name, descriptor->rank },
		.call = {
			.function = function,
			.dtype = adapter_task_dtype(function, names_dtype(coll->dtype)),
			.root = coll->root,
			.count = coll->count,
		},
		.task = {
			.nccl_sequence = coll->sequence,
			.send = (uintptr_t)coll->send,
			.recv = (uintptr_t)coll->recv,
			.peer = -1,
			.algorithm = names_algorithm(run->algorithm),
			.protocol = names_protocol(run->protocol),
			.channels = run->channels,
		},
	};
}

static struct reported_bare_task decode_p2p(const struct profiler_v2_event *descriptor)
{
	const struct profiler_v2_p2p *p2p = &descriptor->p2p;
	uint8_t function = names_function(p2p->function);

	return (struct reported_bare_task){
		.identity = { p2p->comm_hash, p2p->name, descriptor->rank },
		.call = {
			.function = function,
			.dtype = names_dtype(p2p->dtype),
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

static void *start(void *context, void *parent, const struct profiler_v2_event *descriptor,
		   const struct profiler_v2_run *run)
{
	struct reported_bare_task task;

	if (descriptor->type == PROFILER_GROUP)
		return recorder_start_plan(context);
	if (descriptor->type == PROFILER_COLL)
		task = decode_coll(descriptor, run);
	else if (descriptor->type == PROFILER_P2P)
		task = decode_p2p(descriptor);
	else
		return adapter_start_proxy(context, parent, descriptor);
	return recorder_start_bare_task(context, &task);
}

static void *start_v2(void *context, void *parent, const void *argument)
{
	const struct profiler_v2_event *descriptor = argument;

	return start(context, parent, descriptor, &descriptor->v2.run);
}

static void *start_v3(void *context, void *parent, const void *argument)
{
	const struct profiler_v2_event *descriptor = argument;

	return start(context, parent, descriptor, &descriptor->v3);
}

/* *handle is always written: NCCL hands it back even for events that we ignore. */
static int start_event_v2(void *context, void **handle, void *descriptor)
{
	*handle = adapter_start_old(context, descriptor, start_v2);
	return PROFILER_SUCCESS;
}

static int start_event_v3(void *context, void **handle, void *descriptor)
{
	*handle = adapter_start_old(context, descriptor, start_v3);
	return PROFILER_SUCCESS;
}

#define TABLE(version)                                                                                                 \
	PLUGIN_EXPORT extern const struct profiler_v1 ncclProfiler_v##version;                                         \
	const struct profiler_v1 ncclProfiler_v##version = {                                                           \
		.name = "rankwatch",                                                                                   \
		.init = init_v##version,                                                                               \
		.start_event = start_event_v##version,                                                                 \
		.stop_event = adapter_stop,                                                                            \
		.record_event_state = adapter_record_state,                                                            \
		.finalize = adapter_finalize,                                                                          \
	}

TABLE(2);
TABLE(3);
