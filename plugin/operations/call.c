/* SPDX-License-Identifier: MIT */
#include "plugin/operations/call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/cost/cost.h"
#include "plugin/guest/clock.h"
#include "plugin/operations/replay.h"
#include "plugin/operations/share.h"
#include "plugin/operations/thread.h"
#include "plugin/scanning/scanning.h"

enum { FIRST_ABI_WITH_CALLS = 5 };

/* Initial-exec as in thread.h, and as scarce. */
struct calls {
	struct communicator *added;
	struct operation_group group;
	struct shares shares;
	uint32_t tid;   /* 0 = not asked for yet */
	int32_t calls;  /* until the next one whose cost is measured */
	uint16_t depth; /* of ncclGroupStart */
	uint16_t last;  /* index + 1 of the communicator that was called last in the group, 0 = none */
	bool creates;   /* the group contains a call that creates a communicator */
	bool ends;      /* in the outermost ncclGroupEnd */
	bool ends_inner; /* in any other one */
};
static_assert(sizeof(struct calls) <= 48, "static TLS is scarce");

__thread struct call *call_in_progress __attribute__((tls_model("initial-exec")));
static __thread struct calls these_calls __attribute__((tls_model("initial-exec")));

static bool reports_calls(const struct recording *recording)
{
	return recording->box.header->profiler_abi >= FIRST_ABI_WITH_CALLS;
}

static bool has_slot(const struct communicator *communicator)
{
	return communicator && communicator->abi < FIRST_ABI_WITH_CALLS &&
	       !atomic_load_explicit(&communicator->ended, memory_order_relaxed);
}

/* Where the driver does not report it, nothing may be put into a stream any more. The legacy stream beside the capture
 * of another takes nothing either, and NCCL refuses the call. */
static bool is_captured(struct recording *recording, uint64_t stream)
{
	int capturing = DRIVER_NOT_CAPTURING;

	if (!recording->progress.has_driver)
		return false;
	int error = recording->progress.driver.stream_capturing((driver_stream)(uintptr_t)stream, &capturing);
	if (error && !driver_is_of_capture(error)) {
		if (atomic_load_explicit(&recording->progress.on, memory_order_relaxed))
			progress_give_up(&recording->progress, "cuStreamIsCapturing", error);
		scanning_give_up("cuStreamIsCapturing", error);
		return false;
	}
	return error || capturing != DRIVER_NOT_CAPTURING;
}

static void open_group(struct recording *recording)
{
	if (these_calls.group.number)
		return;
	if (!these_calls.tid)
		these_calls.tid = (uint32_t)syscall(SYS_gettid);
	these_calls.group = (struct operation_group){ .number = recording_new_group(recording, these_calls.tid) };
	these_calls.shares = (struct shares){ .group = these_calls.group.number };
}

static void enter_slot(struct recording *recording, struct call *call)
{
	struct communicator *communicator = call->communicator;
	atomic_store_explicit(&communicator->called, true, memory_order_relaxed);
	uint32_t pending =
	    RW_OWNER_HOST | (communicator->counters.write && !communicator->launches_elsewhere ? RW_OWNER_GPU : 0);

	operation_count_call(communicator);
	open_group(recording);
	share_join(&these_calls.shares, communicator, call->what.stream);
	call->ticket =
	    operation_call(recording, communicator, &call->what, &these_calls.group, these_calls.tid, pending);
	operation_expect_next(recording, communicator, call->ticket);
	if (communicator->samples)
		operation_sample(recording, communicator, &call->what, call->ticket, these_calls.group.number);
	operation_arguments(recording, communicator, call->ticket, call->send, call->recv, call->peer);
	scanning_call(recording, communicator, call->ticket, call_in_group());
}

static void enter_unannounced(struct recording *recording, struct call *call)
{
	struct communicator *communicator = call->communicator;

	operation_count_call(communicator);
	open_group(recording);
	share_join(&these_calls.shares, communicator, call->what.stream);
	share_is_not_followed(communicator);
	call->ticket =
	    operation_unannounced_call(recording, communicator, &call->what, &these_calls.group, these_calls.tid);
	if (communicator->samples)
		operation_sample_unannounced(recording, communicator, &call->what, call->ticket);
	operation_arguments(recording, communicator, call->ticket, call->send, call->recv, call->peer);
	scanning_unannounced_call(recording, communicator, call->ticket, call_in_group());
}

/* Returns `since`, when the measured part of our cost began, later by what the scans took, whose cost is counted apart;
 * 0 stays 0. */
static uint64_t scan_inputs(const struct recording *recording, uint64_t since)
{
	if (!scanning_has_batches())
		return since;
	if (reports_calls(recording))
		scanning_keep_inputs(thread_group());
	uint64_t before = since ? clock_ns() : 0;

	scanning_before_call();
	return since ? since + clock_ns() - before : 0;
}

/* The operations begin when their inputs have been scanned. Returns `since` as scan_inputs(). */
static uint64_t begin_work(struct recording *recording, uint64_t since)
{
	since = scan_inputs(recording, since);
	if (these_calls.group.number)
		recording_group_end(recording, these_calls.group.number);
	shares_begin_launches(recording, &these_calls.shares, these_calls.tid);
	return since;
}

/* The task of an operation for which NCCL has sent none, as far as the call itself shows it. */
static void complete(struct recording *recording, uint64_t ticket)
{
	static const struct reported_task nothing = { .peer = -1 };
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	struct communicator *communicator = slot ? &recording->communicators[slot->comm] : NULL;

	if (communicator)
		operation_task(recording, communicator, ticket, &nothing,
			       communicator->launches_elsewhere ? NULL : share_launch(communicator));
}

static void complete_group(struct recording *recording)
{
	uint64_t ticket = these_calls.group.newest;

	while (box_slot(&recording->box, ticket)) {
		uint64_t previous = group_before(recording, &these_calls.group, ticket);

		complete(recording, ticket);
		ticket = previous;
	}
}

static void end(struct recording *recording, bool failed)
{
	shares_end_launches(recording, &these_calls.shares);
	/* Where nothing was launched the drain finds operations whose group has returned without a task. */
	if (!failed)
		complete_group(recording);
	operation_return(recording, &these_calls.group, clock_ns());
}

/* With the profiler interface from v5 on, a call that nobody has announced before its return. */
static bool is_unannounced(const struct call *call)
{
	const struct communicator *communicator = call->communicator;

	return communicator && communicator->abi >= FIRST_ABI_WITH_CALLS && communicator->nranks > 1 &&
	       !call->announced && !atomic_load_explicit(&communicator->ended, memory_order_relaxed);
}

/* NCCL has launched what the wrappers take for a group of their own, and not left it to the end of another one that was
 * opened past them. Without a profiler interface only they know of groups. */
static bool is_launched(const struct recording *recording)
{
	return reports_calls(recording) ? !thread_in_group()
					 : these_calls.shares.launched || !recording->box.header->profiler_abi;
}

static void scan_outputs(struct recording *recording, bool failed)
{
	if (!scanning_has_batches())
		return;
	if (failed || is_launched(recording))
		scanning_behind_call(failed);
	else
		scanning_not_launched(reports_calls(recording));
}

static void close_group(bool failed)
{
	struct recording *recording = recording_get();

	if (recording)
		scan_outputs(recording, failed);
	if (recording && these_calls.group.number) {
		uint64_t since = cost_begin(&these_calls.calls, &recording->cost_sample);

		end(recording, failed);
		cost_end(recording_cost(recording, these_calls.tid), since, recording->cost_sample);
	}
	these_calls.group = (struct operation_group){ 0 };
	these_calls.shares = (struct shares){ 0 };
}

static void enter_captured(struct recording *recording, const struct call *call)
{
	open_group(recording);
	share_note_captured(&these_calls.shares, call->communicator);
	atomic_store_explicit(&call->communicator->called, true, memory_order_relaxed);
	these_calls.shares.launched = true; /* or its tasks come at the replay */
	operation_count_call(call->communicator);
	operation_count_captured(recording, call->communicator);
	replay_note_unsaid(call->communicator);
}

void call_captured(struct recording *recording, struct communicator *communicator, const struct call *call,
		   uint64_t number)
{
	const struct scanning_capture capture = {
		.number = number,
		.function = call->what.function,
		.dtype = call->what.dtype,
		.reduction = call->what.reduction,
		.root = call->what.root,
		.peer = call->peer,
		.count = call->what.count,
		.stream = call->what.stream,
		.send = call->send,
		.recv = call->recv,
	};

	scanning_captured(recording, communicator, &capture);
}

static void begin(struct recording *recording, struct call *call)
{
	if (is_captured(recording, call->what.stream)) {
		enter_captured(recording, call);
		call_captured(recording, call->communicator, call,
			      communicator_count_captured(call->communicator, call->what.function, call->peer));
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
	uint64_t since = cost_begin(&these_calls.calls, &recording->cost_sample);
	begin(recording, call);
	if (!these_calls.depth)
		since = begin_work(recording, since);
	cost_end(recording_cost(recording, these_calls.tid), since, recording->cost_sample);
}

static void enter_late(struct recording *recording, struct call *call)
{
	uint64_t since = cost_begin(&these_calls.calls, &recording->cost_sample);

	if (is_captured(recording, call->what.stream)) {
		enter_captured(recording, call);
		/* As a node of the graph a scan would come too late. */
		scanning_captured(recording, call->communicator, NULL);
	} else {
		enter_unannounced(recording, call);
	}
	if (!these_calls.depth)
		shares_begin_launches(recording, &these_calls.shares, these_calls.tid);
	cost_end(recording_cost(recording, these_calls.tid), since, recording->cost_sample);
}

/* The state of the group's other communicators comes from ncclCommGetAsyncError: programs poll it until NCCL is
 * done. */
static void note_result(enum call_result result)
{
	struct recording *recording = recording_get();

	if (recording && these_calls.last && result == CALL_GOES_ON)
		communicator_answered(&recording->communicators[these_calls.last - 1], true, 0);
	these_calls.last = 0;
}

/* It was closed past the wrappers. */
static void lose_group(void)
{
	struct recording *recording = recording_get();
	bool launches = recording && !reports_calls(recording);

	these_calls.depth = 0;
	if (recording && scanning_has_batches())
		scanning_not_launched(reports_calls(recording));
	if (launches) { /* what has shown it is a task */
		shares_are_not_followed(&these_calls.shares);
		shares_begin_launches(recording, &these_calls.shares, these_calls.tid);
	}
	close_group(!launches);
}

void call_end(struct call *call, enum call_result result)
{
	struct recording *recording = recording_get();

	if (call->inside)
		return;
	if (recording && result != CALL_FAILED && is_unannounced(call))
		enter_late(recording, call);
	if (call->communicator)
		these_calls.last = (uint16_t)(call->communicator->index + 1);
	if (these_calls.depth && call->group && !thread_in_group())
		lose_group(); /* NCCL has begun and ended a group for this call alone */
	if (!these_calls.depth) {
		close_group(result == CALL_FAILED);
		note_result(result);
	}
	call_in_progress = NULL;
}

bool call_in_group(void)
{
	return these_calls.depth;
}

void call_group_start(void)
{
	if (!call_in_progress) /* one of NCCL's own, inside a call */
		these_calls.depth++;
}

void call_group_end_begin(void)
{
	struct recording *recording = recording_get();

	if (call_in_progress || these_calls.depth != 1) {
		these_calls.ends_inner = !call_in_progress && these_calls.depth;
		return;
	}
	these_calls.ends = true;
	if (recording)
		begin_work(recording, 0);
}

void call_group_end(enum call_result result)
{
	these_calls.ends_inner = false;
	if (call_in_progress || !these_calls.depth || --these_calls.depth)
		return;
	close_group(result == CALL_FAILED);
	note_result(result);
	these_calls.ends = false;
}

/* NCCL launches in a call or in the end of an inner group: a group around it was closed past the wrappers, and had
 * nothing to launch. Too late for inputs, and for progress. */
static void correct_depth(struct recording *recording)
{
	these_calls.depth = !call_in_progress;
	these_calls.ends = !call_in_progress;
	if (scanning_has_batches())
		scanning_not_launched(false);
	shares_are_not_followed(&these_calls.shares);
	shares_begin_launches(recording, &these_calls.shares, these_calls.tid);
}

bool call_launches_here(void)
{
	struct recording *recording = recording_get();

	if (these_calls.ends || (call_in_progress && !these_calls.depth))
		return true;
	if (!these_calls.depth)
		return false;
	/* From v5 on it shows when the call returns. */
	if (!recording || reports_calls(recording) || !(call_in_progress || these_calls.ends_inner)) {
		lose_group();
		return false;
	}
	correct_depth(recording);
	return true;
}

void call_group_creates(void)
{
	these_calls.creates = true;
}

bool call_group_created(void)
{
	bool creates = these_calls.creates;

	these_calls.creates = false;
	return creates;
}

void call_communicator_added(struct communicator *communicator)
{
	these_calls.added = communicator;
}

struct communicator *call_take_communicator(void)
{
	struct communicator *added = these_calls.added;

	these_calls.added = NULL;
	return added;
}

struct call *call_take(const struct communicator *communicator, const struct reported_call *what, uint32_t group)
{
	struct call *call = call_in_progress;

	if (call->communicator != communicator && call->communicator)
		return NULL;
	call->announced = true;
	call->group = group;
	if (call->taken)
		return NULL;
	/* AlltoAll and its kin are announced as many sends and receives: those are operations of their own. */
	if (call->what.function != what->function || call->what.count != what->count)
		return NULL;
	call->taken = true;
	return call;
}

enum call_task call_task(struct recording *recording, struct communicator *communicator,
			 const struct reported_bare_task *event, uint64_t *ticket)
{
	*ticket = 0;
	if (communicator->launches_elsewhere)
		return CALL_TASK_OURS;
	if (!call_launches_here() || !share_is_in(&these_calls.shares, communicator))
		return communicator->called ? CALL_TASK_OURS : CALL_TASK_FOREIGN;
	these_calls.shares.launched = true;
	*ticket = operation_find(recording, &these_calls.group, communicator, event);
	if (*ticket) {
		struct operation_launch launch = *share_launch(communicator);

		launch.end_ns = clock_ns();
		operation_task(recording, communicator, *ticket, &event->task, &launch);
	}
	return CALL_TASK_OURS;
}
