/* SPDX-License-Identifier: MIT */
#include "plugin/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/call.h"
#include "plugin/cost.h"
#include "plugin/handle.h"
#include "plugin/operation.h"
#include "plugin/recording.h"
#include "plugin/scanning.h"

/*
 * What a thread is in the middle of. Initial-exec: no __tls_get_addr (a second library to need), and no malloc at the
 * first touch in a thread, which would be an allocation on a collective's path. glibc keeps about 1.6 KiB of static TLS
 * for libraries that come by dlopen, shared by all of them: hence one cache line and no more.
 */
struct thread {
	struct operation_launch launch;
	struct operation_group group;
	uint32_t launched; /* communicator_mark() of the last launch on this thread, 0 = none */
	uint16_t calls;
};
static_assert(sizeof(struct thread) <= 64, "static TLS is scarce");

static __thread struct thread this_thread __attribute__((tls_model("initial-exec")));

static inline __attribute__((always_inline)) struct communicator *find_communicator(struct recording *recording,
										    const void *context)
{
	uint32_t index = handle_context_index(context);

	if (handle_kind(context) != HANDLE_CONTEXT || index >= RW_BOX_COMMS)
		return NULL;
	struct communicator *communicator = &recording->communicators[index];
	/* Acquire: pairs with the release in communicator_add(). A context of an earlier owner has another generation.
	 */
	uint32_t generation = atomic_load_explicit(&communicator->generation, memory_order_acquire);
	if (generation != handle_context_generation(context) ||
	    atomic_load_explicit(&communicator->ended, memory_order_relaxed))
		return NULL;
	return communicator;
}

/* Not one of ours, or of a communicator that is not recorded. One that has ended is not told apart here. */
static bool is_blind(const void *context)
{
	return handle_kind(context) != HANDLE_CONTEXT || handle_context_index(context) >= RW_BOX_COMMS;
}

static void know_thread(struct thread *thread)
{
	if (!thread->launch.tid)
		thread->launch.tid = (uint32_t)syscall(SYS_gettid);
}

enum recorder_wish recorder_init(const struct recorder_communicator *from, void **context)
{
	struct recording *recording;
	struct communicator *communicator = NULL;

	*context = handle_context(HANDLE_BLIND, 0);
	if (from->abi >= 4 && from->nranks < 2)
		return RECORDER_NOTHING;
	recording = recording_open(from);
	if (recording)
		communicator = communicator_add(recording, from);
	if (!communicator)
		return RECORDER_NOTHING;
	call_communicator_born(communicator);
	know_thread(&this_thread);
	*context = handle_context(communicator->index, communicator->generation);
	return recording->kernels ? RECORDER_OPERATIONS_AND_KERNELS : RECORDER_OPERATIONS;
}

void recorder_finalize(void *context)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? find_communicator(recording, context) : NULL;

	if (communicator)
		communicator_end(recording, communicator);
}

static void *start_api_group(struct recording *recording, struct thread *thread)
{
	thread->group.number = recording_new_group(recording);
	thread->group.newest = 0;
	thread->group.captured = false;
	thread->launch.end_ns = 0;
	return handle_make(HANDLE_API_GROUP, thread->group.number);
}

static void stop_api_group(struct recording *recording, struct thread *thread, uint64_t number)
{
	if (number != thread->group.number)
		return;
	/* What NCCL does between its last launch and its return takes microseconds: not worth another look at the
	 * clock. */
	uint64_t launched_ns = thread->launch.end_ns;
	operation_return(recording, &thread->group, launched_ns ? launched_ns : recording_clock());
	thread->group = (struct operation_group){ 0 };
}

static void *start_call(struct recording *recording, struct thread *thread, struct communicator *communicator,
			const struct recorder_call *call)
{
	uint32_t pending = RW_OWNER_HOST | (communicator->words.write ? RW_OWNER_GPU : 0);
	const struct call *seen = call_take(communicator, call);

	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	if (call->captured) {
		thread->group.captured = true;
		atomic_fetch_add_explicit(&communicator->entry->captured, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_CAPTURED], 1,
					  memory_order_relaxed);
		scanning_captured(recording, communicator, seen);
		return handle_make(HANDLE_CAPTURED, communicator->index);
	}
	know_thread(thread);
	uint64_t ticket = operation_call(recording, communicator, call, &thread->group, thread->launch.tid, pending);
	if (seen) {
		operation_arguments(recording, communicator, ticket, seen->send, seen->recv, seen->peer);
		scanning_call(recording, communicator, ticket);
	}
	return ticket ? handle_make(HANDLE_CALL, ticket) : NULL;
}

static void *start_launch(struct recording *recording, struct thread *thread, struct communicator *communicator,
			  uint64_t stream)
{
	know_thread(thread);
	thread->launched = communicator_mark(communicator);
	/* A launch without a call on this thread: of a communicator that does not block. */
	launch_begin(recording, communicator, &thread->launch, stream, thread->group.captured || !thread->group.newest);
	return handle_make(HANDLE_LAUNCH, (uint64_t)communicator->index << 32 | thread->launch.plan);
}

/* False: it is not the thread's last launch. */
static bool stop_launch(struct recording *recording, struct thread *thread, uint64_t number)
{
	struct operation_launch *launch = &thread->launch;
	uint64_t index = number >> 32;

	if (index >= RW_BOX_COMMS || thread->launched != communicator_mark(&recording->communicators[index]) ||
	    launch->plan != (uint32_t)number)
		return false;
	launch_end(recording, &recording->communicators[index], launch);
	return true;
}

static void *start_task(struct recording *recording, const struct thread *thread, struct communicator *communicator,
			const struct recorder_event *event)
{
	uint64_t ticket = handle_number(event->parent);
	bool launched = thread->launched == communicator_mark(communicator);

	if (handle_kind(event->parent) != HANDLE_CALL)
		return NULL; /* captured, dropped, or somebody else's */
	/* No launch on this thread: a driver's callback thread, the launch was elsewhere. */
	if (!operation_task(recording, communicator, ticket, &event->task, launched ? &thread->launch : NULL))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
}

/*
 * The task comes before the copies are submitted, and nothing but its stop comes after. So all of it is written now,
 * and the stop only lets the GPU say that they are done.
 */
static void *start_copy(struct recording *recording, struct thread *thread, struct communicator *communicator,
			const struct recorder_event *event)
{
	if (handle_kind(event->parent) != HANDLE_CALL)
		return NULL;
	void *launch = start_launch(recording, thread, communicator, event->stream);
	thread->launch.end_ns = thread->launch.begin_ns;
	operation_task(recording, communicator, handle_number(event->parent), &event->task, &thread->launch);
	return handle_make(HANDLE_COPY, handle_number(launch));
}

/* Those of a group can all be started before the first stops: the end of the last is the end of all. */
static void stop_copy(struct recording *recording, struct thread *thread, uint64_t number)
{
	if (stop_launch(recording, thread, number))
		thread->launched = 0;
}

/* NULL: without RANKWATCH_KERNELCH. */
static struct kernel *find_kernel(struct recording *recording, uint64_t ticket)
{
	return recording->kernels ? &recording->kernels[(ticket - 1) & recording->box.ring_mask] : NULL;
}

static void *start_channel(struct recording *recording, const struct communicator *communicator,
			   const struct recorder_event *event)
{
	uint64_t ticket = handle_number(event->parent);
	uint8_t channel = event->channel.number;
	struct kernel *kernel = find_kernel(recording, ticket);

	if (!kernel || handle_kind(event->parent) != HANDLE_TASK)
		return NULL;
	if (!kernel_start(kernel, ticket, (uint16_t)communicator->index, channel, event->channel.raw))
		return NULL;
	return handle_make(HANDLE_CHANNEL, (uint64_t)channel << HANDLE_CHANNEL_SHIFT | ticket);
}

/* Nearly nothing where no collector has asked. */
static void *start_proxy_op(struct recording *recording, const struct communicator *communicator,
			    const struct recorder_proxy_op *proxy_op)
{
	const struct waits_operation operation = {
		.peer = proxy_op->peer,
		.step_bytes = proxy_op->step_bytes > 0 ? (uint32_t)proxy_op->step_bytes : 0,
		.channel = proxy_op->channel,
		.sends = proxy_op->sends,
	};

	if (!atomic_load_explicit(&communicator->leased, memory_order_relaxed) ||
	    (communicator->nranks && proxy_op->peer >= communicator->nranks))
		return NULL;
	uint64_t number = waits_start(&recording->waits, communicator->index, &operation);
	return number ? handle_make(HANDLE_PROXY_OP, number) : NULL;
}

/* Before ABI v5: the task is the first that we hear of the call, and it comes right after the launch. */
static void *start_bare_task(struct recording *recording, struct thread *thread, struct communicator *communicator,
			     const struct recorder_event *event)
{
	struct operation_group none = { 0 };
	uint64_t ticket;

	if (!communicator_know(communicator, &event->identity))
		return NULL;
	if (call_task(recording, communicator, event, &ticket) == CALL_TASK_OURS)
		return ticket ? handle_make(HANDLE_TASK, ticket) : NULL;
	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	know_thread(thread);
	ticket = operation_call(recording, communicator, &event->call, &none, thread->launch.tid, RW_OWNER_HOST);
	uint64_t now = recording_clock();
	struct operation_launch launch = { .tid = thread->launch.tid, .begin_ns = now, .end_ns = now };
	if (!operation_task(recording, communicator, ticket, &event->task, &launch))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
}

static void *dispatch(struct recording *recording, struct thread *thread, struct communicator *communicator,
		      const struct recorder_event *event)
{
	switch (event->kind) {
	case RECORDER_CALL:
		return start_call(recording, thread, communicator, &event->call);
	case RECORDER_LAUNCH:
		return start_launch(recording, thread, communicator, event->stream);
	case RECORDER_TASK:
		return start_task(recording, thread, communicator, event);
	case RECORDER_BARE_TASK:
		return start_bare_task(recording, thread, communicator, event);
	case RECORDER_COPY:
		return start_copy(recording, thread, communicator, event);
	case RECORDER_CHANNEL:
		return start_channel(recording, communicator, event);
	case RECORDER_PROXY_OP:
		return start_proxy_op(recording, communicator, &event->proxy_op);
	}
	return NULL;
}

void *recorder_start_group(void *context)
{
	struct recording *recording = is_blind(context) ? NULL : recording_get();

	return recording ? start_api_group(recording, &this_thread) : NULL;
}

void *recorder_start_plan(void *context)
{
	return is_blind(context) ? NULL : handle_make(HANDLE_PLAN, handle_context_index(context));
}

void *recorder_start(void *context, const struct recorder_event *event)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? find_communicator(recording, context) : NULL;

	if (!communicator)
		return NULL;
	uint64_t begin = cost_begin(&this_thread.calls);
	void *handle = dispatch(recording, &this_thread, communicator, event);
	cost_end(recording, begin);
	/* Launches of scans count for themselves, not as a sample of callbacks. */
	if (event->kind == RECORDER_CALL && !call_in_group())
		scanning_before_call(recording);
	return handle;
}

void recorder_end(void *handle)
{
	struct recording *recording = recording_get();
	uint64_t number = handle_number(handle);

	if (!recording)
		return;
	uint64_t begin = cost_begin(&this_thread.calls);
	switch (handle_kind(handle)) {
	case HANDLE_API_GROUP:
		stop_api_group(recording, &this_thread, number);
		break;
	case HANDLE_LAUNCH:
		stop_launch(recording, &this_thread, number);
		break;
	case HANDLE_COPY:
		stop_copy(recording, &this_thread, number);
		break;
	case HANDLE_PLAN:
		this_thread.launched = 0;
		break;
	case HANDLE_PROXY_OP:
		waits_stop(&recording->waits, number, recording_clock());
		break;
	case HANDLE_PROXY_STEP:
		waits_stop_step(&recording->waits, number, recording_clock());
		break;
	default:
		break;
	}
	cost_end(recording, begin);
	if (handle_kind(handle) == HANDLE_PLAN || handle_kind(handle) == HANDLE_COPY)
		scanning_behind_plan(recording);
}

void recorder_group_end(void *handle)
{
	struct recording *recording = handle_kind(handle) == HANDLE_API_GROUP ? recording_get() : NULL;

	if (recording)
		recording_group_end(recording, (uint32_t)handle_number(handle));
}

void *recorder_start_step(void *proxy_op, int step)
{
	struct recording *recording = handle_kind(proxy_op) == HANDLE_PROXY_OP ? recording_get() : NULL;

	if (!recording)
		return NULL;
	uint64_t begin = cost_begin(&this_thread.calls);
	uint64_t number = waits_start_step(&recording->waits, handle_number(proxy_op), step, recording_clock());
	cost_end(recording, begin);
	return number ? handle_make(HANDLE_PROXY_STEP, number) : NULL;
}

void recorder_proxy_state(void *handle, int state, uint64_t bytes)
{
	bool step = handle_kind(handle) == HANDLE_PROXY_STEP;
	struct recording *recording = step || handle_kind(handle) == HANDLE_PROXY_OP ? recording_get() : NULL;

	if (!recording)
		return;
	uint64_t begin = cost_begin(&this_thread.calls);
	if (step)
		waits_step_state(&recording->waits, handle_number(handle), state, bytes, recording_clock());
	else
		waits_state(&recording->waits, handle_number(handle), state, recording_clock());
	cost_end(recording, begin);
}

void recorder_channel_stop(void *handle, uint64_t raw)
{
	struct recording *recording = handle_kind(handle) == HANDLE_CHANNEL ? recording_get() : NULL;
	uint64_t ticket = handle_number(handle) & ((1ull << HANDLE_CHANNEL_SHIFT) - 1);
	uint8_t channel = (uint8_t)(handle_number(handle) >> HANDLE_CHANNEL_SHIFT);
	struct kernel *kernel = recording ? find_kernel(recording, ticket) : NULL;

	if (!kernel)
		return;
	uint64_t begin = cost_begin(&this_thread.calls);
	kernel_stop(kernel, &recording->box, ticket, channel, raw);
	cost_end(recording, begin);
}
