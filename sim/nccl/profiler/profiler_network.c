/* SPDX-License-Identifier: MIT */
#include "sim/nccl/profiler/profiler_network.h"

#include <unistd.h>

#include "sim/nccl/launch/protocol.h"
#include "sim/nccl/network/pxn.h"
#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/quirk.h"
#include "sim/nccl/release.h"

void profiler_transfer_take(struct transfer_events *events, const struct task *task, bool sends, int peer, int steps)
{
	struct ncclComm *comm = task->comm;

	*events = (struct transfer_events){
		.context = comm->profiler,
		.parent = task->handle,
		.mask = task->event_mask,
		.pid = getpid(),
		.rank = comm->rank,
		.peer = peer,
		.steps = steps,
		.chunk_bytes = protocol_chunk_bytes(task),
		.sends = sends,
		.pxn = comm->pxn,
	};
}

static void start(struct transfer_events *events)
{
	struct event event = { .v7 = { .type = EVENT_PROXY_OP,
				       .parent = events->parent,
				       .rank = events->rank,
				       .proxy_op = { .pid = events->pid,
						     .peer = events->peer,
						     .steps = events->steps,
						     .chunk_bytes = events->chunk_bytes,
						     .is_send = events->sends } } };

	if (events->mask & release()->masks->proxy_op)
		profiler_start_in(events->context, &events->handle, &event);
}

/* As in NCCL: what an earlier start of the same step returned is overwritten. */
static void step_start(struct transfer_events *events, int step)
{
	struct event event = { .v7 = { .type = EVENT_PROXY_STEP,
				       .parent = events->handle,
				       .rank = events->rank,
				       .proxy_step.step = step } };
	void **handle = &events->step_handles[step % LINK_STEPS];

	*handle = NULL;
	if (!(events->mask & release()->masks->proxy_step) || (release()->skips_orphans && !events->handle))
		return;
	profiler_start_in(events->context, handle, &event);
	if (!events->sends && quirk_is_on(QUIRK_RECV_RESTART))
		profiler_start_in(events->context, handle, &event);
}

/* Up to 2.26 ProxyOp counts the steps that have come so far; nobody waits for the peer in a step of its own. */
static void count_steps(struct transfer_events *events, enum transfer_event event, int step, enum profiler_state state)
{
	static const enum profiler_state states[STATE_RECV_GPU_WAIT + 1] = {
		[STATE_SEND_GPU_WAIT] = STATE_SEND_POSTED,      [STATE_SEND_WAIT] = STATE_SEND_TRANSMITTED,
		[STATE_RECV_WAIT] = STATE_RECV_POSTED,          [STATE_RECV_FLUSH_WAIT] = STATE_RECV_RECEIVED,
		[STATE_RECV_GPU_WAIT] = STATE_RECV_TRANSMITTED,
	};
	struct profiler_state_args args = { .bytes = events->bytes, .steps = step + 1 };
	enum profiler_state counted = events->sends ? STATE_SEND_DONE : STATE_RECV_DONE;

	if (event == STEP_STATE)
		counted = state == STATE_SEND_PEER_WAIT ? STATE_SEND_REM_FIFO_WAIT : states[state];
	profiler_record(events->handle, counted, &args);
}

static void step_state(struct transfer_events *events, int step, enum profiler_state state, size_t bytes)
{
	struct profiler_state_args args = { .bytes = bytes };
	bool counts = release()->counts_proxy_steps;

	events->bytes += state == STATE_SEND_WAIT || state == STATE_RECV_FLUSH_WAIT ? bytes : 0;
	if (counts)
		count_steps(events, STEP_STATE, step, state);
	if (!counts || state != STATE_SEND_PEER_WAIT)
		profiler_record(events->step_handles[step % LINK_STEPS], state, &args);
}

static void step_stop(struct transfer_events *events, int step)
{
	profiler_stop(events->step_handles[step % LINK_STEPS]);
	if (release()->counts_proxy_steps)
		count_steps(events, STEP_STOP, step, 0);
}

void profiler_transfer(struct transfer_events *events, enum transfer_event event, int step, enum profiler_state state,
		       size_t bytes)
{
	if (!(events->mask & release()->masks->proxy_op))
		return;
	if (events->pxn) {
		pxn_send(events->pxn, events, event, step, state, bytes);
		return;
	}
	switch (event) {
	case TRANSFER_START:
		start(events);
		return;
	case TRANSFER_PROGRESS:
		if (!release()->counts_proxy_steps)
			profiler_record(events->handle, STATE_IN_PROGRESS, &(struct profiler_state_args){ 0 });
		return;
	case STEP_START:
		step_start(events, step);
		return;
	case STEP_STATE:
		step_state(events, step, state, bytes);
		return;
	case STEP_STOP:
		step_stop(events, step);
		return;
	case TRANSFER_STOP:
		profiler_stop(events->handle);
	}
}

static bool wants_control(void)
{
	return profiler_is_loaded() && profiler_mask() & EVENT_PROXY_CTRL;
}

void profiler_control_start(const struct ncclComm *comm, void **handle)
{
	struct event event = { .v7.type = EVENT_PROXY_CTRL };

	if (wants_control())
		profiler_start(comm, handle, &event);
	else
		*handle = NULL;
}

void profiler_control_state(void *handle, enum profiler_state state, int appended)
{
	struct profiler_state_args args = { .appended = appended };

	if (wants_control())
		profiler_record(handle, state, &args);
}

void profiler_control_stop(void *handle)
{
	profiler_stop(handle);
}

void profiler_control(const struct ncclComm *comm, void **handle, enum profiler_state state)
{
	profiler_control_start(comm, handle);
	profiler_control_state(*handle, state, 0);
	profiler_control_stop(*handle);
}
