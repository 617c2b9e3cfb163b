/* SPDX-License-Identifier: MIT */
#include "plugin/operations/replay.h"

#include "plugin/guest/clock.h"
#include "plugin/guest/memory.h"
#include "plugin/nccl/function.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/thread.h"

enum {
	ABI_WITH_CALLS = 5,         /* before it a replay's task looks like any other */
	/* from NCCL 2.31 on: its GPU counts the kernels of Broadcasts, its host does not; before, kernel_events.h */
	ABI_LOSES_BROADCASTS = 7,
	ABI_COUNTS_REPLAYS = 7,     /* from NCCL 2.31 on */
};

/* What all replays of a captured call have in common. */
struct shape {
	uint64_t count, stream;
	uint32_t mark; /* of its communicator */
	int32_t root;
	uint32_t call_number;
	uint16_t comm;
	uint8_t function, dtype;
};

/* `number` is 0 while another call takes the place over. */
struct captured_call {
	_Alignas(64) _Atomic uint64_t number;
	_Atomic uint64_t replays;
	struct shape shape;
};
static_assert(sizeof(struct captured_call) == 64, "a cache line each");

struct replay {
	struct kernel kernel; /* its ticket is the replay's number */
	struct shape shape;
	struct reported_task task;
	uint64_t sequence, began_ns;
};

/* Of a place in the table of communicators. */
struct counting {
	_Atomic uint32_t mark;        /* whose */
	_Atomic bool replayed;        /* a graph with its calls has run */
	_Atomic bool lost;            /* its replays are not recorded (any more) */
	_Atomic bool wrong;           /* and its other kernels have no times either */
	_Atomic uint64_t captured_at; /* its calls so far when the last one was captured */
};

_Atomic bool replays_are_miscounted;

static struct captured_call *calls; /* NULL: no replay is recorded */
static struct replay *running;
static struct counting *countings;
static _Atomic uint64_t captured, begun; /* so far */

bool replays_open(void)
{
	struct captured_call *call_memory = memory_populated(REPLAY_CALLS * sizeof(*calls));
	struct replay *running_memory = memory_populated(REPLAY_RUNNING * sizeof(*running));
	struct counting *counting_memory = memory_populated(RW_BOX_COMMS * sizeof(*countings));

	if (!call_memory || !running_memory || !counting_memory)
		return false;
	for (int i = 0; i < REPLAY_RUNNING; i++)
		running_memory[i].kernel.ticket = KERNEL_NO_TICKET;
	calls = call_memory;
	running = running_memory;
	countings = counting_memory;
	return true;
}

/* A new owner of the place has not captured anything. */
static struct counting *counting_of(const struct communicator *communicator)
{
	struct counting *counting = &countings[communicator->index];
	uint32_t mark = communicator_mark(communicator);

	if (atomic_load_explicit(&counting->mark, memory_order_relaxed) == mark)
		return counting;
	atomic_store_explicit(&counting->replayed, false, memory_order_relaxed);
	atomic_store_explicit(&counting->lost, false, memory_order_relaxed);
	atomic_store_explicit(&counting->wrong, false, memory_order_relaxed);
	atomic_store_explicit(&counting->captured_at, 0, memory_order_relaxed);
	atomic_store_explicit(&counting->mark, mark, memory_order_relaxed);
	return counting;
}

static uint64_t calls_of(const struct communicator *communicator)
{
	return atomic_load_explicit(&communicator->entry->api_count, memory_order_relaxed);
}

bool replay_search_miscounted(const struct communicator *communicator)
{
	const struct counting *counting = &countings[communicator->index];

	return atomic_load_explicit(&counting->mark, memory_order_relaxed) == communicator_mark(communicator) &&
	       atomic_load_explicit(&counting->wrong, memory_order_relaxed);
}

static bool is_lost(const struct communicator *communicator)
{
	return atomic_load_explicit(&counting_of(communicator)->lost, memory_order_relaxed);
}

/* Readers take the time of its replays for unseen from now on. */
static void lose(const struct communicator *communicator, struct counting *counting)
{
	atomic_store_explicit(&counting->lost, true, memory_order_relaxed);
	atomic_store_explicit(&communicator->entry->replays_timed, 0, memory_order_relaxed);
}

static void set_miscounted(const struct communicator *communicator, struct counting *counting)
{
	if (communicator->abi >= ABI_COUNTS_REPLAYS)
		return;
	lose(communicator, counting);
	atomic_store_explicit(&counting->wrong, true, memory_order_relaxed);
	atomic_store_explicit(&replays_are_miscounted, true, memory_order_relaxed);
}

void replay_note_unsaid(const struct communicator *communicator)
{
	if (calls && communicator->abi < ABI_WITH_CALLS)
		set_miscounted(communicator, counting_of(communicator));
}

/* A replay whose callback runs now may be counted by the planner of this call, which is not prepared yet. */
static void count_capture(const struct communicator *communicator)
{
	struct counting *counting = counting_of(communicator);

	if (atomic_load_explicit(&counting->replayed, memory_order_relaxed))
		set_miscounted(communicator, counting);
	atomic_store_explicit(&counting->captured_at, calls_of(communicator), memory_order_relaxed);
}

/* NCCL decides by the communicator's latest call whether it counts the replay. */
static void count_replay(const struct communicator *communicator)
{
	struct counting *counting = counting_of(communicator);

	if (calls_of(communicator) != atomic_load_explicit(&counting->captured_at, memory_order_relaxed))
		set_miscounted(communicator, counting);
	atomic_store_explicit(&counting->replayed, true, memory_order_relaxed);
}

static void look_for_broadcasts(const struct communicator *communicator)
{
	const enum rw_function broadcast = RW_FUNCTION_BROADCAST;

	if (communicator->abi >= ABI_LOSES_BROADCASTS &&
	    (atomic_load_explicit(&communicator->sequence[broadcast], memory_order_relaxed) ||
	     atomic_load_explicit(&communicator->captured[broadcast], memory_order_relaxed)))
		lose(communicator, counting_of(communicator));
}

/* The call that has the place is not known any more. */
static void forget(struct recording *recording, struct captured_call *at)
{
	struct communicator *communicator = &recording->communicators[at->shape.comm];

	if (!atomic_load_explicit(&at->number, memory_order_relaxed) ||
	    at->shape.mark != communicator_mark(communicator))
		return;
	if (atomic_load_explicit(&communicator->entry->replays_timed, memory_order_relaxed))
		atomic_fetch_sub_explicit(&communicator->entry->replays_timed, 1, memory_order_relaxed);
}

uint64_t replay_note_call(struct recording *recording, const struct communicator *communicator,
			  const struct reported_call *call, uint64_t call_number)
{
	if (!calls)
		return 0;
	count_capture(communicator);
	look_for_broadcasts(communicator);
	if (function_is_p2p(call->function) || call_number > RW_CAPTURED_CALL_MASK || is_lost(communicator))
		return 0;
	uint64_t number = atomic_fetch_add_explicit(&captured, 1, memory_order_relaxed) + 1;
	struct captured_call *at = &calls[number % REPLAY_CALLS];

	forget(recording, at);
	atomic_store_explicit(&at->number, 0, memory_order_relaxed);
	/* Pairs with the acquire fence in find_call(). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&at->replays, 0, memory_order_relaxed);
	at->shape = (struct shape){
		.count = call->count,
		.stream = call->stream,
		.mark = communicator_mark(communicator),
		.root = call->root,
		.call_number = (uint32_t)call_number,
		.comm = (uint16_t)communicator->index,
		.function = call->function,
		.dtype = call->dtype,
	};
	/* Pairs with the acquire in find_call(). */
	atomic_store_explicit(&at->number, number, memory_order_release);
	atomic_fetch_add_explicit(&communicator->entry->replays_timed, 1, memory_order_relaxed);
	return number;
}

/* NULL: a newer call has its place. ThreadSanitizer cannot know that torn copies are dropped. */
__attribute__((no_sanitize("thread"))) static struct captured_call *find_call(uint64_t number, struct shape *shape)
{
	struct captured_call *at = &calls[number % REPLAY_CALLS];

	if (!number || atomic_load_explicit(&at->number, memory_order_acquire) != number)
		return NULL;
	*shape = at->shape;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&at->number, memory_order_relaxed) == number ? at : NULL;
}

static bool expect(const struct communicator *communicator, uint64_t number, const struct shape *shape,
		   uint64_t sequence, const struct reported_task *task)
{
	struct replay *replay = &running[number % REPLAY_RUNNING];
	struct kernel *kernel = &replay->kernel;

	if (!try_lock_take(&kernel->lock))
		return false;
	kernel_await(kernel, number, task->channels, communicator);
	replay->shape = *shape;
	replay->task = *task;
	replay->sequence = sequence;
	replay->began_ns = 0;
	try_lock_leave(&kernel->lock);
	return true;
}

void *replay_begin(struct communicator *communicator, uint64_t number, const struct reported_task *task)
{
	struct shape shape;

	if (!calls)
		return NULL;
	count_replay(communicator);
	look_for_broadcasts(communicator);
	struct captured_call *call = find_call(number, &shape);
	if (!call || shape.mark != communicator_mark(communicator))
		return NULL;
	uint64_t replay = atomic_fetch_add_explicit(&call->replays, 1, memory_order_relaxed);
	if (!task->channels || is_lost(communicator))
		return NULL;
	uint64_t begins = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) + 1;
	if (!expect(communicator, begins, &shape, rw_captured_sequence(shape.call_number, replay), task))
		return NULL;
	return handle_make(HANDLE_REPLAY, begins);
}

void *replay_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw)
{
	uint64_t number = handle_number(parent);

	if (handle_kind(parent) != HANDLE_REPLAY || !running || channel >= KERNEL_CHANNELS || !recording_get())
		return NULL;
	struct replay *replay = &running[number % REPLAY_RUNNING];
	if (!try_lock_take(&replay->kernel.lock))
		return NULL;
	bool expected = kernel_start_channel(&replay->kernel, number, context, UINT64_C(1) << channel, raw);
	if (expected && !replay->began_ns)
		replay->began_ns = clock_ns();
	try_lock_leave(&replay->kernel.lock);
	return expected ? handle_make(HANDLE_REPLAY_CHANNEL, (uint64_t)channel << HANDLE_CHANNEL_SHIFT | number) : NULL;
}

static void fill_times(struct rw_operation *slot, const struct replay *replay, uint64_t now_ns)
{
	slot->gpu_start_raw = replay->kernel.start_raw;
	slot->gpu_end_raw = replay->kernel.end_before_raw + 1;
	slot->gpu_source = RW_GPU_SOURCE_KERNEL_CH;
	slot->started_seen_ns = replay->began_ns;
	slot->done_seen_ns = now_ns;
}

static void fill(struct rw_operation *slot, const struct replay *replay, uint64_t now_ns)
{
	uint32_t known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK;

	slot->comm = replay->shape.comm;
	slot->function = replay->shape.function;
	slot->dtype = replay->shape.dtype;
	slot->count = replay->shape.count;
	slot->stream = replay->shape.stream;
	slot->root_or_peer = replay->shape.root;
	slot->sequence = replay->sequence;
	slot->nccl_sequence = replay->task.nccl_sequence;
	slot->algorithm = replay->task.algorithm;
	slot->protocol = replay->task.protocol;
	slot->channels = replay->task.channels;
	slot->send_address = replay->task.send;
	slot->recv_address = replay->task.recv;
	slot->api_ns = now_ns;
	if (kernel_has_times(&replay->kernel)) {
		fill_times(slot, replay, now_ns);
		known |= RW_KNOWN_STARTED | RW_KNOWN_DONE | RW_KNOWN_STAMP;
	}
	atomic_store_explicit(&slot->flags, RW_FLAG_CAPTURED, memory_order_relaxed);
	atomic_store_explicit(&slot->known, known, memory_order_relaxed);
}

/* One without times, too: then it is known that something ran. */
static void record(struct recording *recording, const struct replay *replay)
{
	const struct communicator *communicator = replay->kernel.communicator;
	uint64_t ticket;

	if (communicator_mark(communicator) != replay->shape.mark || is_lost(communicator))
		return;
	struct rw_operation *slot = box_claim(&recording->box, RW_OWNER_HOST, &ticket);
	if (!slot)
		return;
	fill(slot, replay, clock_ns());
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
}

void replay_stop_channel(void *handle, uint64_t raw)
{
	uint64_t number = handle_number(handle) & ((UINT64_C(1) << HANDLE_CHANNEL_SHIFT) - 1);
	uint64_t bit = UINT64_C(1) << (handle_number(handle) >> HANDLE_CHANNEL_SHIFT) % KERNEL_CHANNELS;
	struct recording *recording = handle_kind(handle) == HANDLE_REPLAY_CHANNEL && running ? recording_get() : NULL;

	if (!recording)
		return;
	struct replay *replay = &running[number % REPLAY_RUNNING];
	if (!try_lock_take(&replay->kernel.lock))
		return;
	if (kernel_stop_channel(&replay->kernel, number, bit, raw) && kernel_is_whole(&replay->kernel)) {
		replay->kernel.ticket = KERNEL_NO_TICKET;
		record(recording, replay);
	}
	try_lock_leave(&replay->kernel.lock);
}
