/* SPDX-License-Identifier: MIT */
/* NCCL's ProxyOp and ProxyStep events, of communicators whose network waits somebody has leased. */
#include "plugin/network/waits.h"
#include "plugin/operations/event.h"
#include "plugin/operations/recorder.h"
#include "plugin/operations/network_events.h"

/* Nearly nothing where no collector has leased the events. */
EVENT void *start_proxy_op(struct recording *recording, struct communicator *communicator, const void *parent,
			   const void *what)
{
	const struct reported_proxy_op *proxy_op = what;
	const struct waits_operation operation = {
		.peer = proxy_op->peer,
		.step_bytes = proxy_op->step_bytes > 0 ? (uint32_t)proxy_op->step_bytes : 0,
		.channel = proxy_op->channel,
		.sends = proxy_op->sends,
	};

	(void)recording;
	(void)parent;
	if (!atomic_load_explicit(&communicator->leased, memory_order_relaxed) ||
	    (communicator->nranks && proxy_op->peer >= communicator->nranks))
		return NULL;
	uint64_t number = waits_start(communicator->index, &operation);
	return number ? handle_make(HANDLE_PROXY_OP, number) : NULL;
}

void *recorder_start_proxy_op(void *context, const struct reported_proxy_op *proxy_op)
{
	return event_start(start_proxy_op, context, NULL, proxy_op);
}

void *recorder_start_step(void *proxy_op, int step)
{
	struct recording *recording = handle_kind(proxy_op) == HANDLE_PROXY_OP ? recording_get() : NULL;

	if (!recording)
		return NULL;
	uint64_t begin = cost_begin(&this_thread.calls, &recording->cost_sample);
	uint64_t number = waits_start_step(handle_number(proxy_op), step, clock_ns());
	cost_end(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
	return number ? handle_make(HANDLE_PROXY_STEP, number) : NULL;
}

void recorder_proxy_state(void *handle, int state, uint64_t bytes)
{
	bool step = handle_kind(handle) == HANDLE_PROXY_STEP;
	struct recording *recording = step || handle_kind(handle) == HANDLE_PROXY_OP ? recording_get() : NULL;

	if (!recording)
		return;
	uint64_t begin = cost_begin(&this_thread.calls, &recording->cost_sample);
	if (step)
		waits_step_state(handle_number(handle), state, bytes, clock_ns());
	else
		waits_state(handle_number(handle), state, clock_ns());
	cost_end(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
}

EVENT void end_proxy_op(struct recording *recording, uint64_t number)
{
	(void)recording;
	waits_stop(number, clock_ns());
}

EVENT void end_proxy_step(struct recording *recording, uint64_t number)
{
	(void)recording;
	waits_stop_step(number, clock_ns());
}

void network_events_end(struct recording *recording, const void *handle)
{
	event_end(handle_kind(handle) == HANDLE_PROXY_OP ? end_proxy_op : end_proxy_step, recording,
		  handle_number(handle));
}
