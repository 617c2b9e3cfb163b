/* SPDX-License-Identifier: MIT */
#include "plugin/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/handle.h"
#include "plugin/recording.h"

enum { COST_SAMPLE = 64 /* one callback in so many is timed; a power of two */ };

/*
 * What a thread is in the middle of. Initial-exec: no __tls_get_addr (a second library to need), and no malloc at the
 * first touch in a thread, which would be an allocation on a collective's path. glibc keeps about 1.6 KiB of static TLS
 * for libraries that come by dlopen, shared by all of them: hence one cache line and no more.
 */
struct thread {
	uint64_t newest; /* ticket of the last operation of the API group */
	uint64_t launch_begin_ns, launch_end_ns;
	uint64_t launch_stream;
	uint64_t progress; /* of the launch, 0 = not followed */
	uint32_t tid;
	uint32_t group; /* API group, 0 = none */
	uint32_t plan;
	uint16_t launched; /* communicator index + 1; 0 = no launch seen on this thread */
	uint16_t calls;
};
static_assert(sizeof(struct thread) <= 64, "static TLS is scarce");

static __thread struct thread this_thread __attribute__((tls_model("initial-exec")));

static struct communicator *find_communicator(struct recording *recording, const void *context)
{
	uint64_t index = handle_number(context);

	if (handle_kind(context) != HANDLE_CONTEXT || index >= RW_BOX_COMMS)
		return NULL;
	struct communicator *communicator = &recording->communicators[index];
	if (!communicator->entry || atomic_load_explicit(&communicator->ended, memory_order_relaxed))
		return NULL;
	return communicator;
}

static uint32_t thread_id(struct thread *thread)
{
	if (!thread->tid)
		thread->tid = (uint32_t)syscall(SYS_gettid);
	return thread->tid;
}

enum recorder_wish recorder_init(const struct recorder_communicator *from, void **context)
{
	struct recording *recording;
	struct communicator *communicator = NULL;

	*context = handle_make(HANDLE_CONTEXT, HANDLE_BLIND);
	if (from->nranks < 2)
		return RECORDER_NOTHING;
	recording = recording_open(from);
	if (recording)
		communicator = communicator_add(recording, from);
	if (!communicator)
		return RECORDER_NOTHING;
	thread_id(&this_thread);
	*context = handle_make(HANDLE_CONTEXT, communicator->index);
	return recording->config.kernelch ? RECORDER_OPERATIONS_AND_KERNELS : RECORDER_OPERATIONS;
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
	thread->group = atomic_fetch_add_explicit(&recording->groups, 1, memory_order_relaxed) + 1;
	thread->newest = 0;
	return handle_make(HANDLE_API_GROUP, thread->group);
}

/*
 * The task and the group's return are the last that NCCL's threads write, in either order: a non-blocking communicator
 * launches after the return. Whoever comes second, by the word that both go through, ends the host's part.
 */
static void record_last(struct rw_operation *slot, uint64_t ticket, uint32_t known, uint32_t other)
{
	/* Acquire and release: the other's fields come before the slot is free. Release also for readers, as
	 * box_known(). */
	uint32_t before = atomic_fetch_or_explicit(&slot->known, known, memory_order_acq_rel);

	if (!other || (before & other))
		box_release(slot, ticket, RW_OWNER_HOST);
}

static void stop_api_group(struct recording *recording, struct thread *thread, uint64_t group)
{
	uint64_t ticket = thread->newest;
	uint64_t now = recording_clock();

	if (group != thread->group)
		return;
	while (ticket) {
		struct rw_operation *slot = box_slot(&recording->box, ticket);

		if (!slot)
			break; /* given up and overwritten; those before it are older still */
		uint64_t previous = recording->previous[(ticket - 1) & recording->box.ring_mask];
		slot->return_ns = now;
		record_last(slot, ticket, RW_KNOWN_RETURN, RW_KNOWN_TASK);
		ticket = previous;
	}
	thread->group = 0;
	thread->newest = 0;
}

static bool is_p2p(uint8_t function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV || function == RW_FUNCTION_SEND_RECV;
}

/* A published slot for a call, or 0. A p2p call gets its sequence and peer with its task. */
static uint64_t record_call(struct recording *recording, struct thread *thread, struct communicator *communicator,
			    const struct recorder_call *call, uint32_t pending)
{
	uint8_t function = call->function % RW_FUNCTION_COUNT;
	uint64_t ticket, sequence = 0;

	if (!is_p2p(function))
		sequence = atomic_fetch_add_explicit(&communicator->sequence[function], 1, memory_order_relaxed);
	struct rw_operation *slot = box_claim(&recording->box, pending, &ticket);
	if (!slot)
		return 0;
	slot->comm = (uint16_t)communicator->index;
	slot->function = function;
	slot->dtype = call->dtype;
	slot->count = call->count;
	slot->sequence = sequence;
	slot->stream = call->stream;
	slot->api_tid = thread_id(thread);
	slot->group = thread->group;
	slot->api_ns = recording_clock();
	slot->root_or_peer = call->root;
	recording->previous[(ticket - 1) & recording->box.ring_mask] = thread->newest;
	thread->newest = ticket;
	/* Relaxed: nobody reads the slot before box_publish(). */
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API, memory_order_relaxed);
	box_publish(slot, ticket);
	atomic_store_explicit(&communicator->entry->last_ticket[function], ticket, memory_order_relaxed);
	return ticket;
}

static void *start_call(struct recording *recording, struct thread *thread, struct communicator *communicator,
			const struct recorder_call *call)
{
	uint32_t pending = RW_OWNER_HOST | (communicator->words.write ? RW_OWNER_GPU : 0);

	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	if (call->captured) {
		atomic_fetch_add_explicit(&communicator->entry->captured, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_CAPTURED], 1,
					  memory_order_relaxed);
		return handle_make(HANDLE_CAPTURED, communicator->index);
	}
	uint64_t ticket = record_call(recording, thread, communicator, call, pending);
	return ticket ? handle_make(HANDLE_CALL, ticket) : NULL;
}

static void *start_launch(struct recording *recording, struct thread *thread, struct communicator *communicator,
			  uint64_t stream)
{
	uint64_t number = atomic_load_explicit(&communicator->entry->launched, memory_order_relaxed) + 1;

	thread->launched = (uint16_t)(communicator->index + 1);
	thread->plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	thread->launch_stream = stream;
	thread->launch_begin_ns = recording_clock();
	thread->launch_end_ns = 0;
	bool followed = progress_begin(&recording->progress, &communicator->words, stream, number);
	thread->progress = followed ? number : 0;
	/* Launches of one communicator never overlap. One that the GPU will not report must not look unfinished. */
	if (followed || !communicator->words.write)
		atomic_store_explicit(&communicator->entry->launched, number, memory_order_relaxed);
	return handle_make(HANDLE_LAUNCH, (uint64_t)communicator->index << 32 | thread->plan);
}

static void stop_launch(struct recording *recording, struct thread *thread, uint64_t number)
{
	uint64_t index = number >> 32;

	if (index >= RW_BOX_COMMS || thread->launched != index + 1 || thread->plan != (uint32_t)number)
		return;
	if (thread->progress)
		progress_end(&recording->progress, &recording->communicators[index].words, thread->launch_stream,
			     thread->progress);
	thread->launch_end_ns = recording_clock();
}

static uint32_t dtype_size(uint8_t dtype)
{
	static const uint8_t sizes[RW_DTYPE_COUNT] = {
		[RW_DTYPE_INT8] = 1,    [RW_DTYPE_UINT8] = 1,    [RW_DTYPE_INT32] = 4,       [RW_DTYPE_UINT32] = 4,
		[RW_DTYPE_INT64] = 8,   [RW_DTYPE_UINT64] = 8,   [RW_DTYPE_FLOAT16] = 2,     [RW_DTYPE_FLOAT32] = 4,
		[RW_DTYPE_FLOAT64] = 8, [RW_DTYPE_BFLOAT16] = 2, [RW_DTYPE_FLOAT8_E4M3] = 1, [RW_DTYPE_FLOAT8_E5M2] = 1,
	};

	return sizes[dtype % RW_DTYPE_COUNT];
}

/* In place as NCCL defines it: the rank's own part of the larger buffer is the smaller buffer. */
static bool is_in_place(const struct communicator *communicator, const struct rw_operation *slot,
			const struct recorder_task *task)
{
	uint64_t rank = (uint64_t)communicator->rank;

	if (!task->send || !task->recv)
		return false;
	if (slot->function == RW_FUNCTION_ALL_GATHER) /* the task counts bytes */
		return task->send == task->recv + rank * task->count;
	if (slot->function == RW_FUNCTION_REDUCE_SCATTER)
		return task->recv == task->send + rank * task->count * dtype_size(slot->dtype);
	return task->send == task->recv;
}

static uint64_t next_p2p_sequence(struct communicator *communicator, uint8_t function, int32_t peer)
{
	uint32_t direction = function == RW_FUNCTION_SEND ? 0 : (uint32_t)communicator->nranks;

	return atomic_fetch_add_explicit(&communicator->p2p[direction + (uint32_t)peer], 1, memory_order_relaxed);
}

static void record_p2p(struct communicator *communicator, struct rw_operation *slot, const struct recorder_task *task)
{
	if (!communicator->p2p || task->peer < 0 || task->peer >= communicator->nranks) {
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_PEER_UNKNOWN, memory_order_relaxed);
		return;
	}
	slot->root_or_peer = task->peer;
	slot->sequence = next_p2p_sequence(communicator, slot->function, task->peer);
}

static void record_task(struct communicator *communicator, struct rw_operation *slot, const struct recorder_task *task)
{
	if (is_p2p(slot->function))
		record_p2p(communicator, slot, task);
	else if (is_in_place(communicator, slot, task))
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_IN_PLACE, memory_order_relaxed);
	slot->nccl_sequence = task->nccl_sequence;
	slot->send_address = task->send;
	slot->recv_address = task->recv;
	slot->algorithm = task->algorithm;
	slot->protocol = task->protocol;
	slot->channels = task->channels;
}

static void record_launch(const struct thread *thread, struct rw_operation *slot)
{
	slot->launch_begin_ns = thread->launch_begin_ns;
	slot->launch_end_ns = thread->launch_end_ns;
	slot->launch_stream = thread->launch_stream;
	slot->launch_tid = thread->tid;
	slot->plan = thread->plan;
	slot->progress = thread->progress;
}

/* The slot of a call whose task is still to come, else NULL. Only while HOST is pending is the slot sure to stay. */
static struct rw_operation *find_call(struct recording *recording, const struct communicator *communicator,
				      uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);

	if (!slot)
		return NULL;
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	if ((owner & ~(uint32_t)RW_OWNER_PENDING) != box_owner(ticket, 0) || !(owner & RW_OWNER_HOST))
		return NULL;
	if (atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_TASK)
		return NULL; /* its fields are written once */
	return slot->comm == communicator->index ? slot : NULL;
}

static void *start_task(struct recording *recording, struct thread *thread, struct communicator *communicator,
			const struct recorder_event *event)
{
	uint64_t ticket = handle_number(event->parent);
	uint32_t known = RW_KNOWN_TASK;

	if (handle_kind(event->parent) != HANDLE_CALL)
		return NULL; /* captured, dropped, or somebody else's */
	struct rw_operation *slot = find_call(recording, communicator, ticket);
	if (!slot)
		return NULL;
	record_task(communicator, slot, &event->task);
	bool launched = thread->launched == communicator->index + 1;
	if (launched) {
		thread_id(thread);
		record_launch(thread, slot);
		known |= RW_KNOWN_LAUNCH;
	} else { /* a driver's callback thread: the launch was elsewhere */
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_HOST_CALLBACK, memory_order_relaxed);
	}
	if (!launched || !thread->progress)
		box_release(slot, ticket, RW_OWNER_GPU);
	record_last(slot, ticket, known, slot->group ? RW_KNOWN_RETURN : 0);
	return handle_make(HANDLE_TASK, ticket);
}

/* ABI v4: the task is the first that we hear of the call, and it comes right after the launch. */
static void *start_bare_task(struct recording *recording, struct thread *thread, struct communicator *communicator,
			     const struct recorder_event *event)
{
	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	uint64_t ticket = record_call(recording, thread, communicator, &event->call, RW_OWNER_HOST);
	struct rw_operation *slot = ticket ? box_slot(&recording->box, ticket) : NULL;

	if (!slot)
		return NULL;
	record_task(communicator, slot, &event->task);
	slot->launch_begin_ns = slot->launch_end_ns = slot->api_ns;
	slot->launch_tid = thread->tid;
	record_last(slot, ticket, RW_KNOWN_TASK | RW_KNOWN_LAUNCH, 0);
	return handle_make(HANDLE_TASK, ticket);
}

static void *dispatch(struct recording *recording, struct thread *thread, struct communicator *communicator,
		      const struct recorder_event *event)
{
	switch (event->kind) {
	case RECORDER_API_GROUP:
		return start_api_group(recording, thread);
	case RECORDER_CALL:
		return start_call(recording, thread, communicator, &event->call);
	case RECORDER_LAUNCH:
		return start_launch(recording, thread, communicator, event->stream);
	case RECORDER_PLAN:
		return handle_make(HANDLE_PLAN, communicator->index);
	case RECORDER_TASK:
		return start_task(recording, thread, communicator, event);
	case RECORDER_BARE_TASK:
		return start_bare_task(recording, thread, communicator, event);
	}
	return NULL;
}

static uint64_t cost_begin(struct thread *thread)
{
	return thread->calls++ % COST_SAMPLE == 0 ? recording_clock() : 0;
}

static void cost_end(struct recording *recording, uint64_t begin)
{
	if (!begin)
		return;
	atomic_fetch_add_explicit(&recording->box.header->own_ns, (recording_clock() - begin) * COST_SAMPLE,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->callbacks, COST_SAMPLE, memory_order_relaxed);
}

void *recorder_start(void *context, const struct recorder_event *event)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? find_communicator(recording, context) : NULL;

	if (!communicator)
		return NULL;
	uint64_t begin = cost_begin(&this_thread);
	void *handle = dispatch(recording, &this_thread, communicator, event);
	cost_end(recording, begin);
	return handle;
}

void recorder_stop(void *handle)
{
	struct recording *recording = handle ? recording_get() : NULL;
	uint64_t number = handle_number(handle);

	if (!recording)
		return;
	uint64_t begin = cost_begin(&this_thread);
	switch (handle_kind(handle)) {
	case HANDLE_API_GROUP:
		stop_api_group(recording, &this_thread, number);
		break;
	case HANDLE_LAUNCH:
		stop_launch(recording, &this_thread, number);
		break;
	case HANDLE_PLAN:
		this_thread.launched = 0;
		break;
	default: /* stopping a call or a task says nothing new */
		break;
	}
	cost_end(recording, begin);
}
