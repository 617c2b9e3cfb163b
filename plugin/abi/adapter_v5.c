/* SPDX-License-Identifier: MIT */
/* Versions 5, 6 and 7: NCCL 2.28 and later. One reader of the common prefixes. */
#include "plugin/abi/adapter.h"
#include "plugin/nccl/names.h"
#include "plugin/nccl/profiler_v5.h"
#include "plugin/operations/step.h"

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
	struct communicator_init communicator = {
		.id = comm_id,
		.name = comm_name,
		.nnodes = nnodes,
		.nranks = nranks,
		.rank = rank,
		.abi = abi,
		.caller = caller,
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

static __attribute__((noinline)) void *start_coll_api(void *context, const struct profiler_v5_coll_api *api)
{
	const struct reported_call call = {
		.function = names_function(api->function),
		.dtype = names_dtype(api->dtype),
		.captured = api->captured,
		.root = api->root,
		.count = api->count,
		.stream = (uintptr_t)api->stream,
	};

	return recorder_start_call(context, &call);
}

static __attribute__((noinline)) void *start_p2p_api(void *context, const struct profiler_v5_p2p_api *api)
{
	const struct reported_call call = {
		.function = names_function(api->function),
		.dtype = names_dtype(api->dtype),
		.captured = api->captured,
		.root = -1, /* the peer comes with the task */
		.count = api->count,
		.stream = (uintptr_t)api->stream,
	};

	return recorder_start_call(context, &call);
}

static __attribute__((noinline)) void *start_tagged_coll_api(void *context, const struct profiler_v7_coll_api *api)
{
	step_take_tag(api->user_tag);
	return start_coll_api(context, &api->call);
}

static __attribute__((noinline)) void *start_coll_api_v7(void *context, const struct profiler_v7_coll_api *api)
{
	if (step_is_new_tag(api->user_tag))
		return start_tagged_coll_api(context, api);
	return start_coll_api(context, &api->call);
}

static __attribute__((noinline)) void *start_tagged_p2p_api(void *context, const struct profiler_v7_p2p_api *api)
{
	step_take_tag(api->user_tag);
	return start_p2p_api(context, &api->call);
}

static __attribute__((noinline)) void *start_p2p_api_v7(void *context, const struct profiler_v7_p2p_api *api)
{
	if (step_is_new_tag(api->user_tag))
		return start_tagged_p2p_api(context, api);
	return start_p2p_api(context, &api->call);
}

static __attribute__((noinline)) void *start_coll(void *context, const void *parent,
						  const struct profiler_v5_coll *coll)
{
	const struct reported_task task = {
		.nccl_sequence = coll->sequence,
		.send = (uintptr_t)coll->send,
		.recv = (uintptr_t)coll->recv,
		.peer = -1,
		.algorithm = names_algorithm(coll->algorithm),
		.protocol = names_protocol(coll->protocol),
		.channels = coll->channels,
	};

	return recorder_start_task(context, parent, &task);
}

static __attribute__((noinline)) void *start_p2p(void *context, const void *parent, const struct profiler_v5_p2p *p2p)
{
	bool sends = names_function(p2p->function) == RW_FUNCTION_SEND;
	const struct reported_task task = {
		.send = sends ? (uintptr_t)p2p->buffer : 0,
		.recv = sends ? 0 : (uintptr_t)p2p->buffer,
		.peer = p2p->peer,
		.channels = p2p->channels,
	};

	return recorder_start_task(context, parent, &task);
}

static __attribute__((noinline)) void *start_ce_coll(void *context, const void *parent,
						     const struct profiler_v6_ce_coll *coll)
{
	const struct reported_task task = {
		.nccl_sequence = coll->sequence,
		.send = (uintptr_t)coll->send,
		.recv = (uintptr_t)coll->recv,
		.peer = -1,
	};

	return recorder_start_copy(context, parent, (uintptr_t)coll->stream, &task);
}

/* Inlined: on the path of every collective, which has no plugin behind ours. What decodes is not, so that the others
 * save no registers. tagged: the descriptor is of version 7. */
static inline __attribute__((always_inline)) void *start(void *context, void *parent,
							 const struct profiler_v5_event *descriptor, bool tagged)
{
	switch (descriptor->type) {
	case PROFILER_GROUP_API:
		return recorder_start_group(context);
	case PROFILER_COLL_API:
		return tagged ? start_coll_api_v7(context, &descriptor->coll_api_v7)
			      : start_coll_api(context, &descriptor->coll_api);
	case PROFILER_P2P_API:
		return tagged ? start_p2p_api_v7(context, &descriptor->p2p_api_v7)
			      : start_p2p_api(context, &descriptor->p2p_api);
	case PROFILER_KERNEL_LAUNCH:
		return recorder_start_launch(context, (uintptr_t)descriptor->launch.stream);
	case PROFILER_GROUP:
		return recorder_start_plan(context);
	case PROFILER_COLL:
		return start_coll(context, parent, &descriptor->coll);
	case PROFILER_P2P:
		return start_p2p(context, parent, &descriptor->p2p);
	case PROFILER_KERNEL_CH:
		return recorder_start_channel(context, parent, descriptor->kernel_ch.channel,
					      descriptor->kernel_ch.timer);
	case PROFILER_CE_COLL:
		return start_ce_coll(context, parent, &descriptor->ce_coll);
	default: /* proxy and later kinds */
		return adapter_start_proxy(context, parent, descriptor);
	}
}

static void *start_ours(void *context, void *parent, const void *descriptor)
{
	return start(context, parent, descriptor, false);
}

static void *start_ours_v7(void *context, void *parent, const void *descriptor)
{
	return start(context, parent, descriptor, true);
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

static void *start_both_as(void *context, struct profiler_v5_event *descriptor, adapter_start *ours)
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

	return adapter_start_both(context, &event, ours);
}

static __attribute__((noinline)) void *start_both(void *context, struct profiler_v5_event *descriptor)
{
	return start_both_as(context, descriptor, start_ours);
}

static __attribute__((noinline)) void *start_both_v7(void *context, struct profiler_v5_event *descriptor)
{
	return start_both_as(context, descriptor, start_ours_v7);
}

/* *handle is always written: NCCL hands it back even for events that we ignore. */
static int start_event(void *context, void **handle, struct profiler_v5_event *descriptor)
{
	*handle = chain_is_on() ? start_both(context, descriptor)
				: start(context, descriptor->parent, descriptor, false);
	return PROFILER_SUCCESS;
}

static int start_event_v7(void *context, void **handle, struct profiler_v5_event *descriptor)
{
	*handle = chain_is_on() ? start_both_v7(context, descriptor)
				: start(context, descriptor->parent, descriptor, true);
	return PROFILER_SUCCESS;
}

#define TABLE(version, start)                                                                                          \
	PLUGIN_EXPORT extern const struct profiler_v5 ncclProfiler_v##version;                                         \
	const struct profiler_v5 ncclProfiler_v##version = {                                                           \
		.name = "rankwatch",                                                                                   \
		.init = init_v##version,                                                                               \
		.start_event = start,                                                                                  \
		.stop_event = adapter_stop,                                                                            \
		.record_event_state = adapter_record_state,                                                            \
		.finalize = adapter_finalize,                                                                          \
	}

TABLE(5, start_event);
TABLE(6, start_event);
TABLE(7, start_event_v7);
