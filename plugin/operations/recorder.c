/* SPDX-License-Identifier: MIT */
#include "plugin/operations/recorder.h"

#include "plugin/operations/call.h"
#include "plugin/operations/event.h"
#include "plugin/operations/network_events.h"
#include "plugin/operations/operation_path.h"
#include "plugin/operations/replay.h"
#include "plugin/scanning/scanning.h"

/* Not one of ours, or of a communicator that is not recorded. One that has ended is not recognised here. */
static bool is_blind(const void *context)
{
	return handle_kind(context) != HANDLE_CONTEXT || handle_context_index(context) >= RW_BOX_COMMS;
}

void recorder_know_thread(void)
{
	thread_know(&this_thread);
}

static void *start_api_group(struct recording *recording, struct thread *thread)
{
	thread->group = (struct operation_group){ .number = recording_new_group(recording, thread->launch.tid) };
	thread->launch.end_ns = 0;
	return handle_make(HANDLE_API_GROUP, thread->group.number);
}

static __attribute__((noinline, cold)) void *count_captured(struct recording *recording,
							    struct communicator *communicator,
							    const struct reported_call *call, const struct call *seen)
{
	uint64_t number = communicator_count_captured(communicator, call->function, seen ? seen->peer : -1);

	this_thread.group.captured = true;
	operation_count_captured(recording, communicator);
	if (seen)
		call_captured(recording, communicator, seen, number);
	else
		scanning_captured(recording, communicator, NULL);
	return handle_make(HANDLE_CAPTURED, replay_note_call(recording, communicator, call, number));
}

/* seen: by the interposer, too; NULL not. samples: of the communicator, known to the caller. */
static inline __attribute__((always_inline)) void *call_now(struct recording *recording,
							    struct communicator *communicator,
							    const struct reported_call *call, const struct call *seen,
							    bool samples)
{
	struct thread *thread = &this_thread;

	operation_count_call(communicator);
	if (call->captured)
		return count_captured(recording, communicator, call, seen);
	thread_know(thread);
	uint32_t pending = RW_OWNER_HOST | (samples && communicator->counters.write ? RW_OWNER_GPU : 0);
	uint32_t flags = seen ? rw_operator_flags(seen->what.reduction) : 0;
	uint64_t ticket;
	struct rw_operation *slot = operation_path_call(recording, communicator, call, &thread->group,
							thread->launch.tid, pending, flags, &ticket);
	if (samples)
		operation_path_sample(recording, communicator, call, slot, thread->group.number);
	if (seen) {
		operation_arguments(recording, communicator, ticket, seen->send, seen->recv, seen->peer);
		if (scanning_has_batches())
			scanning_keep_inputs(thread->group.number);
		scanning_call(recording, communicator, ticket, call_in_group());
	}
	if (!ticket)
		return NULL;
	operation_expect_next(recording, communicator, ticket);
	return handle_make(HANDLE_CALL, ticket);
}

EVENT void *start_sampled_call(struct recording *recording, struct communicator *communicator, const void *call)
{
	return call_now(recording, communicator, call, NULL, true);
}

EVENT void *start_every_call(struct recording *recording, struct communicator *communicator, const void *call)
{
	return call_now(recording, communicator, call, NULL, false);
}

/* Two functions, so that either saves the registers that it needs. */
EVENT void *start_call(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *call)
{
	(void)parent;
	return communicator->samples ? start_sampled_call(recording, communicator, call)
				     : start_every_call(recording, communicator, call);
}

EVENT void *start_interposed_call(struct recording *recording, struct communicator *communicator, const void *parent,
				  const void *call)
{
	(void)parent;
	const struct call *seen = call_take(communicator, call, this_thread.group.number);

	return call_now(recording, communicator, call, seen, communicator->samples);
}

static inline void *launch_now(struct communicator *communicator, uint64_t stream)
{
	struct thread *thread = &this_thread;

	thread_know(thread);
	thread->launched = communicator_mark(communicator);
	launch_begin(communicator, &thread->launch, stream);
	return handle_make(HANDLE_LAUNCH, (uint64_t)communicator->index << 32 | thread->launch.plan);
}

/* Of a communicator with GPU progress. A launch without a call on this thread is that of a communicator that does not
 * block: of which calls is not known, nor whether they are captured. */
EVENT void *start_followed_launch(struct recording *recording, struct communicator *communicator, uint64_t stream)
{
	struct thread *thread = &this_thread;
	void *handle = launch_now(communicator, stream);
	bool called = thread->group.captured || thread->group.newest;

	if (launches_are_followed(communicator, called ? thread->group.number : 0))
		launch_follow_begin(recording, communicator, &thread->launch, !called);
	return handle;
}

EVENT void *start_counted_launch(struct communicator *communicator, uint64_t stream)
{
	void *handle = launch_now(communicator, stream);

	launch_count_next(communicator);
	return handle;
}

EVENT void *start_launch(struct recording *recording, struct communicator *communicator, const void *parent,
			 const void *stream)
{
	(void)parent;
	return communicator->counters.write ? start_followed_launch(recording, communicator, (uintptr_t)stream)
					    : start_counted_launch(communicator, (uintptr_t)stream);
}

/* Of a captured call, of one that was dropped, or somebody else's. */
EVENT void *start_other_task(struct communicator *communicator, const void *parent, const struct reported_task *task)
{
	return handle_kind(parent) == HANDLE_CAPTURED ? replay_begin(communicator, handle_number(parent), task) : NULL;
}

EVENT void *start_task(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *what)
{
	uint64_t ticket = handle_number(parent);
	bool launched = this_thread.launched == communicator_mark(communicator);

	if (handle_kind(parent) != HANDLE_CALL)
		return start_other_task(communicator, parent, what);
	/* No launch on this thread: a driver's callback thread, the launch was elsewhere. */
	if (!operation_path_task(recording, communicator, ticket, what, launched ? &this_thread.launch : NULL))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
}

struct copy {
	uint64_t stream;
	const struct reported_task *task;
};

/*
 * The task comes before the copies are submitted, and nothing but its stop comes after. So all of it is written now,
 * and the stop only lets the GPU write that they are done.
 */
EVENT void *start_copy(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *what)
{
	const struct copy *copy = what;

	if (handle_kind(parent) != HANDLE_CALL)
		return NULL;
	void *launch = start_launch(recording, communicator, NULL, (const void *)(uintptr_t)copy->stream);

	launch_is_over(&this_thread.launch);
	operation_task(recording, communicator, handle_number(parent), copy->task, &this_thread.launch);
	return handle_make(HANDLE_COPY, handle_number(launch));
}

void *recorder_start_group(void *context)
{
	struct recording *recording = is_blind(context) ? NULL : recording_get();

	return recording ? start_api_group(recording, &this_thread) : NULL;
}

void *recorder_start_plan(void *context)
{
	return is_blind(context) ? NULL : handle_make(HANDLE_PLAN, 0);
}

void *recorder_start_call(void *context, const struct reported_call *call)
{
	if (!call_in_progress)
		return event_start(start_call, context, NULL, call);
	void *handle = event_start(start_interposed_call, context, NULL, call);
	/* Launches of scans count for themselves, not as a sample of callbacks. */
	if (handle && scanning_has_batches() && !call_in_group())
		scanning_before_call();
	return handle;
}

void *recorder_start_launch(void *context, uint64_t stream)
{
	return event_start(start_launch, context, NULL, (const void *)(uintptr_t)stream);
}

void *recorder_start_task(void *context, const void *parent, const struct reported_task *task)
{
	return event_start(start_task, context, parent, task);
}

void *recorder_start_copy(void *context, const void *parent, uint64_t stream, const struct reported_task *task)
{
	return event_start(start_copy, context, parent, &(struct copy){ stream, task });
}

EVENT void end_group(struct recording *recording, uint64_t number)
{
	struct thread *thread = &this_thread;

	if (number != thread->group.number)
		return;
	/* What NCCL does between its last launch and its return takes microseconds: not worth another read of the
	 * clock. */
	uint64_t launched_ns = thread->launch.end_ns;
	operation_path_return(recording, &thread->group, launched_ns ? launched_ns : clock_ns());
	thread->group = (struct operation_group){ 0 };
}

/* False: it is not the thread's last launch. */
static inline bool stop_launch(struct recording *recording, uint64_t number)
{
	struct operation_launch *launch = &this_thread.launch;
	uint64_t index = number >> 32;

	if (index >= RW_BOX_COMMS || this_thread.launched != communicator_mark(&recording->communicators[index]) ||
	    launch->plan != (uint32_t)number)
		return false;
	launch_end(recording, &recording->communicators[index], launch);
	return true;
}

EVENT void end_launch(struct recording *recording, uint64_t number)
{
	stop_launch(recording, number);
}

/* Those of a group can all be started before the first stops: the end of the last is the end of all. */
static void stop_copy(struct recording *recording, uint64_t number)
{
	if (stop_launch(recording, number))
		this_thread.launched = 0;
}

/* Launches of scans count for themselves, as at the call. */
static inline void end_plan(void)
{
	this_thread.launched = 0;
	if (scanning_has_batches())
		scanning_behind_plan();
}

EVENT void end_copy(struct recording *recording, uint64_t number)
{
	event_end(stop_copy, recording, number);
	if (scanning_has_batches())
		scanning_behind_plan();
}

void recorder_end(void *handle)
{
	struct recording *recording = recording_get();
	uint64_t number = handle_number(handle);

	if (!recording)
		return;
	switch (handle_kind(handle)) {
	case HANDLE_API_GROUP:
		event_end(end_group, recording, number);
		break;
	case HANDLE_LAUNCH:
		event_end(end_launch, recording, number);
		break;
	case HANDLE_PLAN:
		end_plan();
		break;
	case HANDLE_COPY:
		end_copy(recording, number);
		break;
	case HANDLE_PROXY_OP:
	case HANDLE_PROXY_STEP:
		network_events_end(recording, handle);
		break;
	default:
		break;
	}
}

void recorder_group_end(void *handle)
{
	struct recording *recording = handle_kind(handle) == HANDLE_API_GROUP ? recording_get() : NULL;

	if (recording)
		recording_group_end(recording, (uint32_t)(uintptr_t)handle);
}
