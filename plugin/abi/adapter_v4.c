/* SPDX-License-Identifier: MIT */
/* Version 4: NCCL 2.27, and what carries it in torch 2.8 to 2.10 on CUDA 12. No API events, no streams. */
#include "plugin/abi/adapter.h"
#include "plugin/nccl/names.h"
#include "plugin/nccl/profiler_v4.h"

#include <rankwatch/operation.h>

static int init(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nnodes, int nranks, int rank,
		profiler_log *log)
{
	static adapter_masks masks = { 0, PROFILER_OPERATIONS, PROFILER_OPERATIONS | PROFILER_KERNEL_CH };
	struct communicator_init communicator = {
		.id = comm_hash,
		.name = comm_name,
		.nnodes = nnodes,
		.nranks = nranks,
		.rank = rank,
		.abi = 4,
		.caller = __builtin_return_address(0),
	};
	return adapter_init(&communicator, log, masks, context, mask);
}

static struct reported_bare_task decode_coll(const struct profiler_v4_coll *coll)
{
	uint8_t function = names_function(coll->function);

	return (struct reported_bare_task){
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
			.algorithm = names_algorithm(coll->algorithm),
			.protocol = names_protocol(coll->protocol),
			.channels = coll->channels,
		},
	};
}

static struct reported_bare_task decode_p2p(const struct profiler_v4_p2p *p2p)
{
	uint8_t function = names_function(p2p->function);

	return (struct reported_bare_task){
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

static void *start(void *context, void *parent, const void *argument)
{
	const struct profiler_v4_event *descriptor = argument;
	struct reported_bare_task task;

	switch (descriptor->type) {
	case PROFILER_GROUP:
		return recorder_start_plan(context);
	case PROFILER_COLL:
		task = decode_coll(&descriptor->coll);
		break;
	case PROFILER_P2P:
		task = decode_p2p(&descriptor->p2p);
		break;
	case PROFILER_KERNEL_CH:
		return recorder_start_channel(context, parent, descriptor->kernel_ch.channel,
					      descriptor->kernel_ch.timer);
	default:
		return adapter_start_proxy(context, parent, descriptor);
	}
	return recorder_start_bare_task(context, &task);
}

/* *handle is always written: NCCL hands it back even for events that we ignore. */
static int start_event(void *context, void **handle, struct profiler_v4_event *descriptor)
{
	*handle = adapter_start_old(context, descriptor, start);
	return PROFILER_SUCCESS;
}

PLUGIN_EXPORT extern const struct profiler_v4 ncclProfiler_v4;
const struct profiler_v4 ncclProfiler_v4 = {
	.name = "rankwatch",
	.init = init,
	.start_event = start_event,
	.stop_event = adapter_stop,
	.record_event_state = adapter_record_state,
	.finalize = adapter_finalize,
};
