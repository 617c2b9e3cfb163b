/* SPDX-License-Identifier: MIT */
/* Versions 5, 6 and 7: NCCL 2.28 and later. One reader of the common prefixes. */
#include "plugin/abi/adapter.h"
#include "plugin/abi/names.h"
#include "plugin/abi/profiler_v5.h"

#include <rankwatch/operation.h>

static int init(uint32_t abi, const void *caller, void **context, uint64_t comm_id, int *mask, const char *comm_name,
		int nnodes, int nranks, int rank, profiler_log *log)
{
	enum {
		CALLS = PROFILER_OPERATIONS | PROFILER_GROUP_API | PROFILER_COLL_API | PROFILER_P2P_API |
			PROFILER_KERNEL_LAUNCH,
	};
	static adapter_masks v5 = { 0, CALLS, CALLS | PROFILER_KERNEL_CH };
	static adapter_masks v6 = { 0, CALLS | PROFILER_CE_COLL, CALLS | PROFILER_CE_COLL | PROFILER_KERNEL_CH };
	struct recorder_communicator communicator = {
		.id = comm_id,
		.name = comm_name,
		.nnodes = nnodes,
		.nranks = nranks,
		.rank = rank,
		.abi = abi,
		.caller = caller,
		.mask = mask,
	};

	return adapter_init(&communicator, log, abi < 6 ? v5 : v6, context, mask);
}

static int init_v5(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nnodes, int nranks, int rank,
		   profiler_log *log)
{
	return init(5, __builtin_return_address(0), context, comm_id, mask, comm_name, nnodes, nranks, rank, log);
}

static int init_v6(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nnodes, int nranks, int rank,
		   profiler_log *log)
{
	return init(6, __builtin_return_address(0), context, comm_id, mask, comm_name, nnodes, nranks, rank, log);
}

static int init_v7(void **context, uint64_t comm_id, int *mask, const char *comm_name, int nnodes, int nranks, int rank,
		   profiler_log *log)
{
	return init(7, __builtin_return_address(0), context, comm_id, mask, comm_name, nnodes, nranks, rank, log);
}

static void decode_coll_api(struct recorder_event *event, const struct profiler_v5_coll_api *api)
{
	event->kind = RECORDER_CALL;
	event->call.function = names_function(api->function);
	event->call.dtype = names_dtype(api->dtype);
	event->call.captured = api->captured;
	event->call.root = api->root;
	event->call.count = api->count;
	event->call.stream = (uintptr_t)api->stream;
}

static void decode_p2p_api(struct recorder_event *event, const struct profiler_v5_p2p_api *api)
{
	event->kind = RECORDER_CALL;
	event->call.function = names_function(api->function);
	event->call.dtype = names_dtype(api->dtype);
	event->call.captured = api->captured;
	event->call.root = -1; /* the peer comes with the task */
	event->call.count = api->count;
	event->call.stream = (uintptr_t)api->stream;
}

static void decode_coll(struct recorder_event *event, const struct profiler_v5_coll *coll)
{
	event->kind = RECORDER_TASK;
	event->task.nccl_sequence = coll->sequence;
	event->task.send = (uintptr_t)coll->send;
	event->task.recv = (uintptr_t)coll->recv;
	event->task.count = coll->count;
	event->task.peer = -1;
	event->task.algorithm = names_algorithm(coll->algorithm);
	event->task.protocol = names_protocol(coll->protocol);
	event->task.channels = coll->channels;
}

static void decode_p2p(struct recorder_event *event, const struct profiler_v5_p2p *p2p)
{
	bool sends = names_function(p2p->function) == RW_FUNCTION_SEND;

	event->kind = RECORDER_TASK;
	event->task.nccl_sequence = 0;
	event->task.send = sends ? (uintptr_t)p2p->buffer : 0;
	event->task.recv = sends ? 0 : (uintptr_t)p2p->buffer;
	event->task.count = p2p->count;
	event->task.peer = p2p->peer;
	event->task.algorithm = RW_ALGORITHM_UNKNOWN;
	event->task.protocol = RW_PROTOCOL_UNKNOWN;
	event->task.channels = p2p->channels;
}

static void decode_ce_coll(struct recorder_event *event, const struct profiler_v6_ce_coll *coll)
{
	event->kind = RECORDER_COPY;
	event->stream = (uintptr_t)coll->stream;
	event->task = (struct recorder_task){
		.nccl_sequence = coll->sequence,
		.send = (uintptr_t)coll->send,
		.recv = (uintptr_t)coll->recv,
		.count = coll->count,
		.peer = -1,
	};
}

/* Inlined: on the path of every collective, which has no plugin behind ours. */
static inline __attribute__((always_inline)) void *start(void *context, void *parent,
							 const struct profiler_v5_event *descriptor)
{
	struct recorder_event event;

	event.parent = parent;
	switch (descriptor->type) {
	case PROFILER_GROUP_API:
		return recorder_start_group(context);
	case PROFILER_COLL_API:
		decode_coll_api(&event, &descriptor->coll_api);
		break;
	case PROFILER_P2P_API:
		decode_p2p_api(&event, &descriptor->p2p_api);
		break;
	case PROFILER_KERNEL_LAUNCH:
		event.kind = RECORDER_LAUNCH;
		event.stream = (uintptr_t)descriptor->launch.stream;
		break;
	case PROFILER_GROUP:
		return recorder_start_plan(context);
	case PROFILER_COLL:
		decode_coll(&event, &descriptor->coll);
		break;
	case PROFILER_P2P:
		decode_p2p(&event, &descriptor->p2p);
		break;
	case PROFILER_KERNEL_CH:
		event.kind = RECORDER_CHANNEL;
		event.channel.number = descriptor->kernel_ch.channel;
		event.channel.raw = descriptor->kernel_ch.timer;
		break;
	case PROFILER_CE_COLL:
		decode_ce_coll(&event, &descriptor->ce_coll);
		break;
	default: /* proxy and later kinds */
		return adapter_start_proxy(context, parent, descriptor);
	}
	return recorder_start(context, &event);
}

static void *start_ours(void *context, void *parent, const void *descriptor)
{
	return start(context, parent, descriptor);
}

static bool is_captured(const struct profiler_v5_event *descriptor)
{
	switch (descriptor->type) {
	case PROFILER_GROUP_API:
		return descriptor->group_api.captured;
	case PROFILER_COLL_API:
		return descriptor->coll_api.captured;
	case PROFILER_P2P_API:
		return descriptor->p2p_api.captured;
	default:
		return false;
	}
}

static __attribute__((noinline)) void *start_both(void *context, struct profiler_v5_event *descriptor)
{
	struct chain_event event = {
		.type = descriptor->type,
		.descriptor = descriptor,
		.parent = descriptor->parent,
		.group = descriptor->type == PROFILER_COLL  ? descriptor->coll.group
			 : descriptor->type == PROFILER_P2P ? descriptor->p2p.group
							    : NULL,
		.captured = is_captured(descriptor),
	};

	return adapter_start_both(context, &event, start_ours);
}

/* *handle is always written: NCCL hands it back even for events that we ignore. */
static int start_event(void *context, void **handle, struct profiler_v5_event *descriptor)
{
	*handle = chain_is_on() ? start_both(context, descriptor) : start(context, descriptor->parent, descriptor);
	return PROFILER_SUCCESS;
}

#define TABLE(version)                                                                                                 \
	PLUGIN_EXPORT extern const struct profiler_v5 ncclProfiler_v##version;                                         \
	const struct profiler_v5 ncclProfiler_v##version = {                                                           \
		.name = "rankwatch",                                                                                   \
		.init = init_v##version,                                                                               \
		.start_event = start_event,                                                                            \
		.stop_event = adapter_stop,                                                                            \
		.record_event_state = adapter_record_state,                                                            \
		.finalize = adapter_finalize,                                                                          \
	}

TABLE(5);
TABLE(6);
TABLE(7);
