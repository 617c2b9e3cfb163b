/* SPDX-License-Identifier: MIT */
#include "plugin/operations/call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/cost/cost.h"
#include "plugin/guest/clock.h"
#include "plugin/scanning/scanning.h"

enum { FIRST_ABI_WITH_CALLS = 5 };

/* Initial-exec as in recorder.c, and as scarce. */
struct calls {
	struct communicator *born;
	struct operation_group group;
	uint32_t tid;    /* 0 = not asked for yet */
	uint16_t depth;  /* of ncclGroupStart */
	int32_t calls;  /* for the cost */
	uint16_t shares; /* index + 1 of the first communicator of the group, 0 = none */
	uint16_t last;   /* index + 1 of the one that was called last in the group, 0 = none */
};
static_assert(sizeof(struct calls) <= 40, "static TLS is scarce");

__thread struct call *call_in_progress __attribute__((tls_model("initial-exec")));
static __thread struct calls this_thread __attribute__((tls_model("initial-exec")));

/* A communicator's part of the group in progress on the thread that uses it, by communicator index. */
struct share {
	struct operation_launch launch;
	uint64_t stream;
	uint32_t group;
	uint32_t captured;    /* the last group with a captured call: its tasks are no operations */
	uint16_t next;        /* index + 1 */
	bool several_streams; /* NCCL alone knows where they meet, or when: not followed by the GPU words */
	bool foreign; /* the thread's context was another one at the launches' beginning, and so it is at their end */
};

static struct share shares[RW_BOX_COMMS];

static _Atomic bool interposing;

void call_interpose(void)
{
	atomic_store_explicit(&interposing, true, memory_order_relaxed);
}

bool call_is_interposed(void)
{
	return atomic_load_explicit(&interposing, memory_order_relaxed);
}

static bool has_slot(const struct communicator *communicator)
{
	return communicator && communicator->abi < FIRST_ABI_WITH_CALLS &&
	       !atomic_load_explicit(&communicator->ended, memory_order_relaxed);
}

/* Where the driver does not say, nothing may be put into a stream any more. The legacy stream beside the capture of
 * another takes nothing either, and NCCL refuses the call. */
static bool is_captured(struct recording *recording, uint64_t stream)
{
	int capturing = DRIVER_NOT_CAPTURING;

	if (!recording->progress.has_driver)
		return false;
	int error = recording->progress.driver.stream_capturing((driver_stream)(uintptr_t)stream, &capturing);
	if (error && !driver_is_of_capture(error)) {
		if (atomic_load_explicit(&recording->progress.on, memory_order_relaxed))
			progress_give_up(&recording->progress, "cuStreamIsCapturing", error);
		if (scanner_is_on(&recording->scanner))
			scanner_give_up(&recording->scanner, "cuStreamIsCapturing", error);
		return false;
	}
	return error || capturing != DRIVER_NOT_CAPTURING;
}

static void open_group(struct recording *recording)
{
	if (this_thread.group.number)
		return;
	this_thread.group.number = recording_new_group(recording);
	this_thread.group.newest = 0;
	this_thread.shares = 0;
	if (!this_thread.tid)
		this_thread.tid = (uint32_t)syscall(SYS_gettid);
}

static void join_group(const struct call *call)
{
	struct share *share = &shares[call->communicator->index];

	if (share->group == this_thread.group.number) {
		share->several_streams |= share->stream != call->what.stream;
		return;
	}
	*share = (struct share){
		.stream = call->what.stream,
		.group = this_thread.group.number,
		.next = this_thread.shares,
	};
	this_thread.shares = (uint16_t)(call->communicator->index + 1);
}

static void enter_slot(struct recording *recording, struct call *call)
{
	struct communicator *communicator = call->communicator;
	uint32_t pending =
	    RW_OWNER_HOST | (communicator->words.write && !communicator->launches_elsewhere ? RW_OWNER_GPU : 0);

	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	open_group(recording);
	join_group(call);
	call->ticket =
	    operation_call(recording, communicator, &call->what, &this_thread.group, this_thread.tid, pending);
	if (communicator->samples)
		operation_sample(recording, communicator, &call->what, call->ticket, this_thread.group.number);
	operation_arguments(recording, communicator, call->ticket, call->send, call->recv, call->peer);
	scanning_call(recording, communicator, call->ticket);
}

static void enter_unannounced(struct recording *recording, struct call *call)
{
	struct communicator *communicator = call->communicator;

	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	open_group(recording);
	join_group(call);
	/* The communicator's other launches write the words, whenever those are. */
	shares[communicator->index].several_streams = true;
	call->ticket = operation_unannounced_call(recording, communicator, &call->what, &this_thread.group, this_thread.tid);
	if (communicator->samples)
		operation_sample_unannounced(recording, communicator, &call->what, call->ticket);
	operation_arguments(recording, communicator, call->ticket, call->send, call->recv, call->peer);
	scanning_unannounced_call(recording, communicator, call->ticket);
}

static void count_captured(struct recording *recording, struct call *call)
{
	struct communicator *communicator = call->communicator;

	open_group(recording);
	shares[communicator->index].captured = this_thread.group.number;
	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&communicator->entry->captured, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_CAPTURED], 1, memory_order_relaxed);
}

/* The words belong to the communicator's context; one thread can drive several devices in a group. */
static void with_context(struct recording *recording, struct communicator *communicator, struct share *share,
			 void (*step)(struct recording *, struct communicator *, struct share *))
{
	const struct driver *driver = &recording->progress.driver;
	driver_context current;
	bool pushed = share->foreign && driver->context_push(communicator->words.context) == 0;

	step(recording, communicator, share);
	if (pushed)
		driver->context_pop(&current);
}

static void note_context(struct recording *recording, const struct communicator *communicator, struct share *share)
{
	driver_context current;

	share->foreign = communicator->words.write && recording->progress.driver.context_current(&current) == 0 &&
			 current != communicator->words.context;
}

static void begin_share(struct recording *recording, struct communicator *communicator, struct share *share)
{
	if (share->several_streams) {
		share->launch = (struct operation_launch){ .begin_ns = clock_ns(), .stream = share->stream };
		share->launch.plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	} else {
		launch_begin(communicator, &share->launch, share->stream);
		/* Captured calls have no share. */
		if (!communicator->words.write)
			launch_count_next(communicator);
		else if (operation_is_followed(communicator, share->group))
			launch_follow_begin(recording, communicator, &share->launch, false);
	}
}

static void end_share(struct recording *recording, struct communicator *communicator, struct share *share)
{
	launch_end(recording, communicator, &share->launch);
}

static void for_each_share(struct recording *recording,
			   void (*step)(struct recording *, struct communicator *, struct share *))
{
	for (uint16_t at = this_thread.shares; at; at = shares[at - 1].next) {
		struct communicator *communicator = &recording->communicators[at - 1];

		if (!communicator->launches_elsewhere)
			with_context(recording, communicator, &shares[at - 1], step);
	}
}

static void begin_launches(struct recording *recording)
{
	for (uint16_t at = this_thread.shares; at; at = shares[at - 1].next) {
		struct communicator *communicator = &recording->communicators[at - 1];

		shares[at - 1].launch.tid = this_thread.tid;
		if (!communicator->launches_elsewhere && !shares[at - 1].several_streams &&
		    operation_is_followed(communicator, shares[at - 1].group))
			note_context(recording, communicator, &shares[at - 1]);
	}
	for_each_share(recording, begin_share);
}

/* The operations begin when their inputs have been read. The start of the cost's sample, later by what the scans took:
 * those count for themselves. */
static uint64_t begin_work(struct recording *recording, uint64_t since)
{
	uint64_t scanned_ns = scanning_before_call(recording);

	if (this_thread.group.number)
		recording_group_end(recording, this_thread.group.number);
	begin_launches(recording);
	return since ? since + scanned_ns : 0;
}

/* The task of an operation for which NCCL has sent none: all of it that the call itself says. */
static void complete(struct recording *recording, uint64_t ticket)
{
	static const struct recorder_task nothing = { .peer = -1 };
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	struct communicator *communicator = slot ? &recording->communicators[slot->comm] : NULL;

	if (communicator)
		operation_task(recording, communicator, ticket, &nothing,
			       communicator->launches_elsewhere ? NULL : &shares[slot->comm].launch);
}

static void complete_group(struct recording *recording)
{
	uint64_t ticket = this_thread.group.newest;

	while (box_slot(&recording->box, ticket)) {
		uint64_t previous = recording->previous[(ticket - 1) & recording->box.ring_mask];

		complete(recording, ticket);
		ticket = previous;
	}
}

static void end(struct recording *recording, bool failed)
{
	for_each_share(recording, end_share);
	/* Where nothing was launched the drain finds operations whose group has returned without a task. */
	if (!failed)
		complete_group(recording);
	operation_return(recording, &this_thread.group, clock_ns());
}

/* With the profiler interface from v5 on, a call that nobody has announced before its return. */
static bool is_unannounced(const struct call *call)
{
	const struct communicator *communicator = call->communicator;

	return communicator && communicator->abi >= FIRST_ABI_WITH_CALLS && communicator->nranks > 1 &&
	       !call->announced && !atomic_load_explicit(&communicator->ended, memory_order_relaxed);
}

static void close_group(bool failed)
{
	struct recording *recording = recording_get();

	if (recording)
		scanning_behind_call(recording, failed);
	if (recording && this_thread.group.number) {
		uint64_t since = cost_begin(&this_thread.calls);

		end(recording, failed);
		cost_end(recording, since);
	}
	this_thread.group = (struct operation_group){ 0 };
	this_thread.shares = 0;
}

static void begin(struct recording *recording, struct call *call)
{
	if (is_captured(recording, call->what.stream)) {
		count_captured(recording, call);
		scanning_captured(recording, call->communicator, call);
		return;
	}
	enter_slot(recording, call);
}

void call_begin(struct call *call)
{
	struct recording *recording = recording_get();

	call->inside = call_in_progress;
	if (call->inside)
		return;
	call_in_progress = call;
	if (!recording || !has_slot(call->communicator))
		return;
	uint64_t since = cost_begin(&this_thread.calls);
	begin(recording, call);
	if (!this_thread.depth)
		since = begin_work(recording, since);
	cost_end(recording, since);
}

static void enter_late(struct recording *recording, struct call *call)
{
	uint64_t since = cost_begin(&this_thread.calls);

	if (is_captured(recording, call->what.stream)) {
		count_captured(recording, call);
		scanning_captured(recording, call->communicator, NULL); /* in the graph it would come too late */
	} else {
		enter_unannounced(recording, call);
	}
	if (!this_thread.depth)
		begin_launches(recording);
	cost_end(recording, since);
}

/* Of the group's other communicators NCCL is asked: programs poll until it is through. */
static void note_result(enum call_result result)
{
	struct recording *recording = recording_get();

	if (recording && this_thread.last && result == CALL_GOES_ON)
		communicator_answered(&recording->communicators[this_thread.last - 1], true, 0);
	this_thread.last = 0;
}

void call_end(struct call *call, enum call_result result)
{
	struct recording *recording = recording_get();

	if (call->inside)
		return;
	call_in_progress = NULL;
	if (recording && result != CALL_FAILED && is_unannounced(call))
		enter_late(recording, call);
	if (call->communicator)
		this_thread.last = (uint16_t)(call->communicator->index + 1);
	if (this_thread.depth)
		return;
	close_group(result == CALL_FAILED);
	note_result(result);
}

bool call_in_group(void)
{
	return this_thread.depth;
}

void call_group_start(void)
{
	if (!call_in_progress) /* one of NCCL's own, inside a call */
		this_thread.depth++;
}

void call_group_end_begin(void)
{
	struct recording *recording = recording_get();

	if (!recording || call_in_progress || this_thread.depth != 1)
		return;
	begin_work(recording, 0);
}

void call_group_end(enum call_result result)
{
	if (call_in_progress || !this_thread.depth || --this_thread.depth)
		return;
	close_group(result == CALL_FAILED);
	note_result(result);
}

void call_communicator_born(struct communicator *communicator)
{
	this_thread.born = communicator;
}

struct communicator *call_communicator_take(void)
{
	struct communicator *born = this_thread.born;

	this_thread.born = NULL;
	return born;
}

struct call *call_take(const struct communicator *communicator, const struct recorder_call *what)
{
	struct call *call = call_in_progress;

	if (call->communicator && call->communicator != communicator)
		return NULL;
	call->announced = true;
	if (call->taken)
		return NULL;
	/* AlltoAll and its kin are announced as many sends and receives: those are operations of their own. */
	if (call->what.function != what->function || call->what.count != what->count)
		return NULL;
	call->taken = true;
	return call;
}

enum call_task call_task(struct recording *recording, struct communicator *communicator,
			 const struct recorder_bare_task *event, uint64_t *ticket)
{
	struct share *share = &shares[communicator->index];

	*ticket = 0;
	if (communicator->launches_elsewhere)
		return CALL_TASK_OURS;
	if (!this_thread.group.number ||
	    (share->group != this_thread.group.number && share->captured != this_thread.group.number))
		return CALL_TASK_FOREIGN;
	*ticket = operation_find(recording, &this_thread.group, communicator, event);
	if (*ticket) {
		struct operation_launch launch = share->launch;

		launch.end_ns = clock_ns();
		operation_task(recording, communicator, *ticket, &event->task, &launch);
	}
	return CALL_TASK_OURS;
}
