/* SPDX-License-Identifier: MIT */
#include "plugin/abi/adapter.h"

#include <stdatomic.h>
#include <unistd.h>

#include <rankwatch/operation.h>

#include "plugin/recording/event_mask.h"
#include "plugin/recording/handle.h"
#include "plugin/recording/recording.h"

static pid_t own_pid; /* getpid() would enter the kernel */
static _Atomic bool asked_for_kernels;

int adapter_init(const struct communicator_init *communicator, profiler_log *log, adapter_masks masks,
		 void **context, int *mask)
{
	enum init_wish wish = init_context(communicator, context);
	struct communicator *ours = wish == INIT_NOTHING ? NULL : recording_find(recording_get(), *context);

	__atomic_store_n(&own_pid, getpid(), __ATOMIC_RELAXED);
	chain_init(communicator, log, masks[wish], context, mask);
	if (wish == INIT_OPERATIONS_AND_KERNELS)
		atomic_store(&asked_for_kernels, true);
	else if (wish == INIT_OPERATIONS && atomic_exchange(&asked_for_kernels, false))
		chain_withdraw(masks[INIT_OPERATIONS_AND_KERNELS] & ~masks[INIT_OPERATIONS], mask);
	if (ours) /* kernel events, which we take back ourselves, do not count */
		event_mask_asked(ours, mask, masks[INIT_OPERATIONS]);
	return PROFILER_SUCCESS;
}

static bool is_of_another_process(const struct profiler_head *head)
{
	return head->proxy_op.pid != __atomic_load_n(&own_pid, __ATOMIC_RELAXED);
}

void *adapter_start_both(void *context, struct chain_event *event, adapter_start *start)
{
	const struct profiler_head *head = event->descriptor;
	void *ours = start(chain_ours(context), chain_ours(event->parent), event->descriptor);

	event->foreign = event->type == PROFILER_PROXY_OP && is_of_another_process(head);
	return chain_start(event, context, ours);
}

void *adapter_start_old(void *context, void *descriptor, adapter_start *start)
{
	const struct profiler_head *head = descriptor;

	if (!chain_is_on())
		return start(context, head->parent, descriptor);
	return adapter_start_both(
	    context, &(struct chain_event){ .type = head->type, .descriptor = descriptor, .parent = head->parent },
	    start);
}

void *adapter_start_proxy(void *context, void *parent, const void *descriptor)
{
	const struct profiler_head *head = descriptor;

	if (head->type == PROFILER_PROXY_STEP)
		return recorder_start_step(parent, head->step);
	if (head->type != PROFILER_PROXY_OP || is_of_another_process(head))
		return NULL;
	const struct reported_proxy_op proxy_op = {
		.peer = head->proxy_op.peer,
		.step_bytes = head->proxy_op.step_bytes,
		.channel = head->proxy_op.channel,
		.sends = head->proxy_op.is_send == 1,
	};
	return recorder_start_proxy_op(context, &proxy_op);
}

uint8_t adapter_task_dtype(uint8_t function, uint8_t dtype)
{
	bool bytes = function == RW_FUNCTION_ALL_GATHER || function == RW_FUNCTION_BROADCAST;

	return bytes ? RW_DTYPE_UNKNOWN : dtype;
}

static __attribute__((noinline)) void stop_both(void *handle)
{
	recorder_end(chain_ours(handle));
	chain_stop(handle);
}

int adapter_stop(void *handle)
{
	if (handle_is_silent(handle)) /* only ours, also where another plugin is behind */
		return PROFILER_SUCCESS;
	if (chain_is_on())
		stop_both(handle);
	else
		recorder_end(handle);
	return PROFILER_SUCCESS;
}

static inline void record_state(void *handle, int state, const union profiler_state_arguments *arguments)
{
	/* First: with kernel events on, one comes for every channel of every operation. */
	if (state == PROFILER_KERNEL_CH_STOP) {
		if (arguments)
			recorder_channel_stop(handle, arguments->timer);
		return;
	}
	switch (state) {
	case PROFILER_GROUP_START_API_STOP:
		break;
	case PROFILER_GROUP_END_API_START:
		recorder_group_end(handle);
		break;
	default:
		recorder_proxy_state(handle, state, arguments ? arguments->bytes : 0);
	}
}

static __attribute__((noinline)) void record_both(void *handle, int state, void *arguments)
{
	record_state(chain_ours(handle), state, arguments);
	chain_record_state(handle, state, arguments);
}

int adapter_record_state(void *handle, int state, void *arguments)
{
	if (chain_is_on())
		record_both(handle, state, arguments);
	else
		record_state(handle, state, arguments);
	return PROFILER_SUCCESS;
}

int adapter_finalize(void *context)
{
	if (chain_is_on()) {
		init_finalize(chain_ours(context));
		chain_finalize(context);
	} else {
		init_finalize(context);
	}
	return PROFILER_SUCCESS;
}
