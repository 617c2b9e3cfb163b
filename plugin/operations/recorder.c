/* SPDX-License-Identifier: MIT */
#include "plugin/operations/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/cost/cost.h"
#include "plugin/guest/clock.h"
#include "plugin/operations/call.h"
#include "plugin/operations/operation_path.h"
#include "plugin/recording/handle.h"
#include "plugin/recording/recording.h"
#include "plugin/scanning/scanning.h"

/*
 * What a thread is in the middle of. Initial-exec: no __tls_get_addr (a second library to need), and no malloc at the
 * first touch in a thread, which would be an allocation on a collective's path. glibc keeps about 1.6 KiB of static TLS
 * for libraries that come by dlopen, shared by all of them: hence one cache line and no more.
 */
struct thread {
	struct operation_launch launch;
	struct operation_group group;
	uint32_t launched; /* communicator_mark() of the last launch on this thread, 0 = none */
	int32_t calls;
};
static_assert(sizeof(struct thread) <= 64, "static TLS is scarce");

static __thread struct thread this_thread __attribute__((tls_model("initial-exec")));

/* NULL: not ours, ended, or of an earlier owner of its place. One comparison tells: the number holds all of it. */
static inline struct communicator *find_communicator(struct recording *recording, const void *context)
{
	struct communicator *communicator = &recording->communicators[handle_context_index(context) % RW_BOX_COMMS];

	/* Acquire: pairs with the release in move_in(). */
	return atomic_load_explicit(&communicator->context, memory_order_acquire) == (uintptr_t)context ? communicator
													: NULL;
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

/*
 * One event begins; what: the recorder's own struct of it. Never inlined: the look at the context, before, needs no
 * registers to be saved.
 */
typedef void *start_event(struct recording *recording, struct communicator *communicator, const void *parent,
			  const void *what);
#define EVENT static __attribute__((noinline))

static void *count_captured(struct recording *recording, struct communicator *communicator, const struct call *seen)
{
	this_thread.group.captured = true;
	atomic_fetch_add_explicit(&communicator->entry->captured, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_CAPTURED], 1, memory_order_relaxed);
	scanning_captured(recording, communicator, seen);
	return handle_make(HANDLE_CAPTURED, communicator->index);
}

/* seen: by the interposer, too; NULL not. samples: of the communicator, known to the caller. */
static inline __attribute__((always_inline)) void *call_now(struct recording *recording,
							    struct communicator *communicator,
							    const struct recorder_call *call, const struct call *seen,
							    bool samples)
{
	struct thread *thread = &this_thread;

	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	if (call->captured)
		return count_captured(recording, communicator, seen);
	know_thread(thread);
	uint32_t pending = RW_OWNER_HOST | (communicator->words.write ? RW_OWNER_GPU : 0);
	uint32_t flags = seen ? rw_operator_flags(seen->what.reduction) : 0;
	uint64_t ticket =
	    operation_path_call(recording, communicator, call, &thread->group, thread->launch.tid, pending, flags);
	if (samples)
		operation_sample(recording, communicator, call, ticket, thread->group.number);
	if (seen) {
		operation_arguments(recording, communicator, ticket, seen->send, seen->recv, seen->peer);
		scanning_call(recording, communicator, ticket);
	}
	return ticket ? handle_make(HANDLE_CALL, ticket) : NULL;
}

EVENT void *start_sampled_call(struct recording *recording, struct communicator *communicator, const void *call)
{
	return call_now(recording, communicator, call, NULL, true);
}

EVENT void *start_call(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *call)
{
	(void)parent;
	if (communicator->samples)
		return start_sampled_call(recording, communicator, call);
	return call_now(recording, communicator, call, NULL, false);
}

EVENT void *start_interposed_call(struct recording *recording, struct communicator *communicator, const void *parent,
				  const void *call)
{
	(void)parent;
	return call_now(recording, communicator, call, call_take(communicator, call), communicator->samples);
}

/* A launch without a call on this thread is that of a communicator that does not block: of which calls is not known, nor
 * whether they are captured. */
static __attribute__((noinline)) void follow_launch(struct communicator *communicator)
{
	struct recording *recording = recording_get();
	struct thread *thread = &this_thread;
	bool called = thread->group.captured || thread->group.newest;

	if (recording && operation_is_followed(communicator, called ? thread->group.number : 0))
		launch_follow_begin(recording, communicator, &thread->launch, !called);
}

static inline void *launch_now(struct communicator *communicator, uint64_t stream)
{
	struct thread *thread = &this_thread;

	know_thread(thread);
	thread->launched = communicator_mark(communicator);
	launch_begin(communicator, &thread->launch, stream);
	if (communicator->words.write)
		follow_launch(communicator);
	else
		launch_count_next(communicator);
	return handle_make(HANDLE_LAUNCH, (uint64_t)communicator->index << 32 | thread->launch.plan);
}

EVENT void *start_launch(struct recording *recording, struct communicator *communicator, const void *parent,
			 const void *stream)
{
	(void)recording;
	(void)parent;
	return launch_now(communicator, (uintptr_t)stream);
}

EVENT void *start_task(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *what)
{
	uint64_t ticket = handle_number(parent);
	bool launched = this_thread.launched == communicator_mark(communicator);

	if (handle_kind(parent) != HANDLE_CALL)
		return NULL; /* captured, dropped, or somebody else's */
	/* No launch on this thread: a driver's callback thread, the launch was elsewhere. */
	if (!operation_path_task(recording, communicator, ticket, what, launched ? &this_thread.launch : NULL))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
}

struct copy {
	uint64_t stream;
	const struct recorder_task *task;
};

/*
 * The task comes before the copies are submitted, and nothing but its stop comes after. So all of it is written now,
 * and the stop only lets the GPU say that they are done.
 */
EVENT void *start_copy(struct recording *recording, struct communicator *communicator, const void *parent,
		       const void *what)
{
	const struct copy *copy = what;

	if (handle_kind(parent) != HANDLE_CALL)
		return NULL;
	void *launch = launch_now(communicator, copy->stream);
	launch_is_over(&this_thread.launch);
	operation_task(recording, communicator, handle_number(parent), copy->task, &this_thread.launch);
	return handle_make(HANDLE_COPY, handle_number(launch));
}

/* NULL: without RANKWATCH_KERNELCH. */
static struct kernel *find_kernel(struct recording *recording, uint64_t ticket)
{
	return recording->kernels ? &recording->kernels[(ticket - 1) & recording->box.ring_mask] : NULL;
}

/* Nearly nothing where no collector has asked. */
EVENT void *start_proxy_op(struct recording *recording, struct communicator *communicator, const void *parent,
			   const void *what)
{
	const struct recorder_proxy_op *proxy_op = what;
	const struct waits_operation operation = {
		.peer = proxy_op->peer,
		.step_bytes = proxy_op->step_bytes > 0 ? (uint32_t)proxy_op->step_bytes : 0,
		.channel = proxy_op->channel,
		.sends = proxy_op->sends,
	};

	(void)parent;
	if (!atomic_load_explicit(&communicator->leased, memory_order_relaxed) ||
	    (communicator->nranks && proxy_op->peer >= communicator->nranks))
		return NULL;
	uint64_t number = waits_start(&recording->waits, communicator->index, &operation);
	return number ? handle_make(HANDLE_PROXY_OP, number) : NULL;
}

/* Before ABI v5: the task is the first that we hear of the call, and it comes right after the launch. */
EVENT void *start_bare_task(struct recording *recording, struct communicator *communicator, const void *parent,
			    const void *what)
{
	const struct recorder_bare_task *event = what;
	struct thread *thread = &this_thread;
	struct operation_group none = { 0 };
	uint64_t ticket;

	(void)parent;
	if (!communicator_know(communicator, &event->identity))
		return NULL;
	if (call_task(recording, communicator, event, &ticket) == CALL_TASK_OURS)
		return ticket ? handle_make(HANDLE_TASK, ticket) : NULL;
	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	know_thread(thread);
	ticket = operation_call(recording, communicator, &event->call, &none, thread->launch.tid, RW_OWNER_HOST);
	uint64_t now = clock_ns();
	struct operation_launch launch = { .tid = thread->launch.tid, .begin_ns = now, .end_ns = now };
	if (!operation_task(recording, communicator, ticket, &event->task, &launch))
		return NULL;
	return handle_make(HANDLE_TASK, ticket);
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

static __attribute__((noinline, cold)) void *start_timed(start_event *start, struct recording *recording,
							 struct communicator *communicator, const void *parent,
							 const void *what)
{
	uint64_t begin = clock_ns();
	void *handle = start(recording, communicator, parent, what);

	cost_add(recording, begin);
	return handle;
}

static inline __attribute__((always_inline)) void *start(start_event *event, const void *context, const void *parent,
							 const void *what)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? find_communicator(recording, context) : NULL;

	if (!communicator)
		return NULL;
	if (cost_is_due(&this_thread.calls))
		return start_timed(event, recording, communicator, parent, what);
	return event(recording, communicator, parent, what);
}

void *recorder_start_call(void *context, const struct recorder_call *call)
{
	if (!call_in_progress)
		return start(start_call, context, NULL, call);
	void *handle = start(start_interposed_call, context, NULL, call);
	/* Launches of scans count for themselves, not as a sample of callbacks. */
	if (handle && scanner_has_batches() && !call_in_group())
		scanning_before_call(recording_get());
	return handle;
}

void *recorder_start_launch(void *context, uint64_t stream)
{
	return start(start_launch, context, NULL, (const void *)(uintptr_t)stream);
}

void *recorder_start_task(void *context, const void *parent, const struct recorder_task *task)
{
	return start(start_task, context, parent, task);
}

void *recorder_start_bare_task(void *context, const struct recorder_bare_task *task)
{
	return start(start_bare_task, context, NULL, task);
}

void *recorder_start_copy(void *context, const void *parent, uint64_t stream, const struct recorder_task *task)
{
	return start(start_copy, context, parent, &(struct copy){ stream, task });
}

void *recorder_start_proxy_op(void *context, const struct recorder_proxy_op *proxy_op)
{
	return start(start_proxy_op, context, NULL, proxy_op);
}

/* One event ends; number: of its handle. */
typedef void end_event(struct recording *recording, uint64_t number);

EVENT void end_group(struct recording *recording, uint64_t number)
{
	struct thread *thread = &this_thread;

	if (number != thread->group.number)
		return;
	/* What NCCL does between its last launch and its return takes microseconds: not worth another look at the
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

EVENT void end_proxy_op(struct recording *recording, uint64_t number)
{
	waits_stop(&recording->waits, number, clock_ns());
}

EVENT void end_proxy_step(struct recording *recording, uint64_t number)
{
	waits_stop_step(&recording->waits, number, clock_ns());
}

static __attribute__((noinline, cold)) void end_timed(end_event *event, struct recording *recording, uint64_t number)
{
	uint64_t begin = clock_ns();

	event(recording, number);
	cost_add(recording, begin);
}

static inline __attribute__((always_inline)) void end(end_event *event, struct recording *recording, uint64_t number)
{
	if (cost_is_due(&this_thread.calls))
		end_timed(event, recording, number);
	else
		event(recording, number);
}

/* Launches of scans count for themselves, as at the call. */
static inline void end_plan(struct recording *recording)
{
	this_thread.launched = 0;
	if (scanner_has_batches())
		scanning_behind_plan(recording);
}

EVENT void end_copy(struct recording *recording, uint64_t number)
{
	end(stop_copy, recording, number);
	if (scanner_has_batches())
		scanning_behind_plan(recording);
}

void recorder_end(void *handle)
{
	struct recording *recording = recording_get();
	uint64_t number = handle_number(handle);

	if (!recording)
		return;
	switch (handle_kind(handle)) {
	case HANDLE_API_GROUP:
		end(end_group, recording, number);
		break;
	case HANDLE_LAUNCH:
		end(end_launch, recording, number);
		break;
	case HANDLE_PLAN:
		end_plan(recording);
		break;
	case HANDLE_COPY:
		end_copy(recording, number);
		break;
	case HANDLE_PROXY_OP:
		end(end_proxy_op, recording, number);
		break;
	case HANDLE_PROXY_STEP:
		end(end_proxy_step, recording, number);
		break;
	default:
		break;
	}
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
	uint64_t number = waits_start_step(&recording->waits, handle_number(proxy_op), step, clock_ns());
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
		waits_step_state(&recording->waits, handle_number(handle), state, bytes, clock_ns());
	else
		waits_state(&recording->waits, handle_number(handle), state, clock_ns());
	cost_end(recording, begin);
}

/* Channels: three callbacks each, all of it in registers. The timed one comes back here, and is not due then. */
static __attribute__((noinline, cold)) void *start_channel_timed(struct recording *recording, const void *context,
								 const void *parent, uint8_t channel, uint64_t raw)
{
	uint64_t begin = clock_ns();
	void *handle = recorder_start_channel(context, parent, channel, raw);

	cost_add(recording, begin);
	return handle;
}

void *recorder_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw)
{
	struct recording *recording = handle_kind(parent) == HANDLE_TASK ? recording_get() : NULL;

	if (!recording || !find_communicator(recording, context))
		return NULL;
	if (cost_is_due(&this_thread.calls))
		return start_channel_timed(recording, context, parent, channel, raw);
	uint64_t ticket = handle_number(parent);
	struct kernel *kernel = find_kernel(recording, ticket);
	if (!kernel || !kernel_start(kernel, ticket, (uint16_t)handle_context_index(context), channel, raw))
		return NULL;
	return handle_make(HANDLE_CHANNEL, (uint64_t)channel << HANDLE_CHANNEL_SHIFT | ticket);
}

static __attribute__((noinline, cold)) void stop_channel_timed(struct recording *recording, void *handle, uint64_t raw)
{
	uint64_t begin = clock_ns();

	recorder_channel_stop(handle, raw);
	cost_add(recording, begin);
}

void recorder_channel_stop(void *handle, uint64_t raw)
{
	struct recording *recording = handle_kind(handle) == HANDLE_CHANNEL ? recording_get() : NULL;

	if (!recording)
		return;
	if (cost_is_due(&this_thread.calls)) {
		stop_channel_timed(recording, handle, raw);
		return;
	}
	uint64_t ticket = (uintptr_t)handle & ((1ull << HANDLE_CHANNEL_SHIFT) - 1);
	uint8_t channel = (uint8_t)((uintptr_t)handle >> HANDLE_CHANNEL_SHIFT);
	struct kernel *kernel = find_kernel(recording, ticket);
	if (kernel)
		kernel_stop(kernel, &recording->box, ticket, channel, raw);
}
