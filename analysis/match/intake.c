/* SPDX-License-Identifier: MIT */
#include "analysis/match/intake.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/match/completion.h"
#include "analysis/known/identify.h"
#include "analysis/known/kernel_start.h"
#include "analysis/model.h"
#include "analysis/steps/numbering.h"
#include "analysis/hang/pair.h"
#include "analysis/steps/period.h"
#include "analysis/known/replays.h"
#include "analysis/match/timed_replays.h"
#include "analysis/known/trace.h"
#include "analysis/known/values.h"

enum {
	NUMBERS_MAX = 8, /* elements: gradient norms, losses, flags */
};

static bool is_excluded(const struct rw_operation *slot)
{
	return slot->flags & (RW_FLAG_UNTRACKED | RW_FLAG_ABORTED);
}

/* Norms and losses, at the end of a step. */
static bool reduces_numbers(const struct rw_operation *slot)
{
	return slot->function == RW_FUNCTION_ALL_REDUCE && slot->count <= NUMBERS_MAX;
}

/* Counts of p2p operations vary (MoE), so the place goes by what and how, not by how much. */
static uint32_t signature_of(struct process *process, const struct communicator *communicator,
			     const struct rw_operation *slot)
{
	uint64_t hash = (uint64_t)communicator->index << 16 | (uint64_t)slot->function << 8 | slot->dtype;
	if (!identify_is_point_to_point(slot->function))
		hash ^= slot->count * 0x9e3779b97f4a7c15u;
	hash *= 0xff51afd7ed558ccdu;
	if (!process->first_tid)
		process->first_tid = slot->api_tid;
	uint32_t marks = (slot->api_tid == process->first_tid ? PERIOD_FIRST_THREAD : 0) |
			 (reduces_numbers(slot) ? PERIOD_NUMBER : 0) |
			 (identify_is_point_to_point(slot->function) ? PERIOD_TRANSFER : 0);
	return ((uint32_t)(hash ^ hash >> 32) & ~(uint32_t)PERIOD_MARKS) | marks;
}

/* Does this member lend its steps rather than the one that does? */
static bool is_ahead(const struct instance *instance, uint32_t member)
{
	const struct member *members = instance->communicator->members;

	if (instance->place_member == JOB_NONE)
		return true;
	bool marked = members[member].process->steps.marked,
	     lender = members[instance->place_member].process->steps.marked;
	return marked != lender ? marked : member < instance->place_member;
}

/* The member that appeared first lends its steps to the instance, of those whose program numbers them if there are any;
 * a better pattern of the same member replaces them. Whether the instance has another place now. */
static bool place_instance(struct analysis *analysis, struct instance *instance, const struct trace *trace)
{
	bool same = instance->place_member == trace->member && instance->steps_version != trace->steps_version;
	bool better = is_ahead(instance, trace->member) && !instance->judged;
	bool first = instance->place_member == JOB_NONE;
	if (trace->place.place == STEPS_NO_PLACE)
		return false;
	numbering_compare(instance, trace);
	if (!same && !better && !first)
		return false;
	instance->place_member = trace->member;
	instance->place = trace->place;
	instance->steps_version = trace->steps_version;
	if (instance->judged)
		completion_account(analysis, instance);
	if (instance->values)
		values_queue(analysis, instance);
	return true;
}

/* The period has just been found, or a step that lacks operations: the operations so far get their places. */
static void place_history(struct analysis *analysis, struct process *process)
{
	for (uint32_t i = 0; i < process->steps.history_count; i++) {
		uint64_t ticket = process->steps.history[i].ticket;
		struct trace *trace = &process->trace[ticket % JOB_TRACE];
		struct steps_place place = steps_entry_place(&process->steps, i);
		bool kept = place.place == STEPS_NO_PLACE && trace->steps_version == process->steps.version;
		if (trace->ticket != ticket || kept)
			continue;
		trace->place = place;
		trace->steps_version = process->steps.version;
		struct instance *instance = trace_instance(trace);
		if (instance) {
			/* Members that came before this one were compared with the place that the instance had. */
			if (place_instance(analysis, instance, trace))
				numbering_compare_all(instance);
			if (instance->values)
				values_queue(analysis, instance); /* its own values have a place now, too */
		}
	}
}

/* It is the first that is seen of the process, and others came before it. */
static bool is_first_unseen(const struct process *process, uint64_t ticket)
{
	return !process->operations && ticket > process->marks_before + 1;
}

/* For the comparison with the other ranks. Without memory for it there is none. */
static void note_order(const struct analysis *analysis, struct process *process, const struct membership *membership,
		       const struct rw_operation *slot)
{
	struct communicator *communicator = membership->communicator;
	if (is_first_unseen(process, slot->ticket))
		process->first_ns = slot->api_ns ? slot->api_ns : UINT64_MAX;
	if (!communicator->order)
		communicator->order = calloc(1, sizeof(*communicator->order));
	if (communicator->order && communicator->unlike)
		call_order_part_unlike(communicator->order, process->counts_calls);
	if (communicator->order) {
		communicator->order->keeps = analysis->has_judge && communicator->hosts != 1;
		call_order_note(communicator->order, membership->member, slot,
				communicator->members[membership->member].created_ns > process->first_ns ||
				    !process->first_ns);
	}
}

/* Any count may stand in a box. */
static void note_bytes(struct process *process, const struct rw_operation *slot)
{
	uint64_t bytes = call_bytes(&(struct call){ .dtype = slot->dtype, .count = slot->count }),
		 room = INT64_MAX - process->bytes;

	process->bytes += bytes < room ? bytes : room;
}

/* The first member whose program numbers its steps speaks for the instance, and the others must say the same. */
static void note_marked(struct instance *instance, const struct trace *trace)
{
	const struct process *process = instance->communicator->members[trace->member].process;

	if (!process->steps.marks.count || instance_is_replay(instance))
		return;
	const struct process *first = instance->marked_member == JOB_NONE
					  ? NULL
					  : instance->communicator->members[instance->marked_member].process;
	if (!first || (!first->steps.marked && process->steps.marked)) {
		instance->marked_member = trace->member;
		instance->marked_ticket = trace->ticket;
	} else {
		numbering_compare_marked(instance, trace);
	}
}

static struct trace *new_trace(struct analysis *analysis, struct process *process, const struct membership *membership,
			       const struct rw_operation *slot)
{
	struct trace *trace = &process->trace[slot->ticket % JOB_TRACE];
	*trace = (struct trace){
		.ticket = slot->ticket,
		.member = membership->member,
		.rank = membership->communicator->members[membership->member].rank,
		.communicator = membership->communicator->index,
		.place.place = STEPS_NO_PLACE,
	};
	note_order(analysis, process, membership, slot);
	if (is_first_unseen(process, slot->ticket))
		process->steps.uncounted = true;
	process->operations++;
	note_bytes(process, slot);
	if (slot->known & RW_KNOWN_API && slot->api_tid) {
		process->enqueue_tid = slot->api_tid;
		evidence_note_call(&process->evidence, slot->api_tid, slot->api_ns);
	}
	if (identify_is_point_to_point(slot->function)) {
		membership->communicator->point_to_point = true;
		analysis->job.pipelined = true;
	}
	if (is_excluded(slot))
		return trace;
	uint32_t signature = signature_of(process, membership->communicator, slot);
	if (steps_add(&process->steps, signature, slot->ticket, &trace->place))
		place_history(analysis, process);
	trace->steps_version = process->steps.version;
	return trace;
}

static void join(struct analysis *analysis, const struct membership *membership, struct trace *trace,
		 const struct rw_operation *slot)
{
	struct member *member = &membership->communicator->members[membership->member];
	struct instance_key key = identify_key(membership, slot);
	struct instance *instance = instances_get(&analysis->instances, membership->communicator, &key, slot->api_ns);
	struct operation *operation =
	    instance ? instance_operation(&analysis->instances, instance, membership->member) : NULL;
	if (!operation) /* no memory, or too old for a full pool: a box read late, from its beginning */
		return;
	if (!operation->ticket && instance->joined && instance_is_point_to_point(instance))
		pair_note(&analysis->instances, instance, membership->member, slot);
	identify_describe(instance, slot);
	if (!operation->ticket)
		instance->joined++;
	operation->ticket = slot->ticket;
	operation->state |= OPERATION_JOINED;
	if (slot->api_ns && (!instance->created_ns || slot->api_ns < instance->created_ns))
		instance->created_ns = slot->api_ns;
	uint64_t *last_sequence = &member->last_sequence[key.by_interposer][key.function];
	if (*last_sequence <= slot->sequence)
		*last_sequence = slot->sequence + 1;
	member->sent += slot->function == RW_FUNCTION_SEND;
	member->sent_itself += slot->function == RW_FUNCTION_SEND && key.source == key.target;
	trace->instance = instance;
	trace->serial = instance->serial;
	note_marked(instance, trace);
	place_instance(analysis, instance, trace);
}

static bool is_settled(const struct operation *operation)
{
	if (operation->state & (OPERATION_EXCLUDED | OPERATION_DONE))
		return true;
	return operation->state & OPERATION_HOST && operation->state & OPERATION_STARTED;
}

/* The return alone is no launch: a communicator that does not block launches later, or NCCL told of none. */
static uint64_t launched_at(const struct rw_operation *slot)
{
	uint32_t returned = RW_KNOWN_TASK | RW_KNOWN_RETURN;
	if (slot->known & RW_KNOWN_LAUNCH && slot->launch_end_ns)
		return slot->launch_end_ns;
	return (slot->known & returned) == returned ? slot->return_ns : 0;
}

/* Of one without a launch: where it is. */
static uint16_t whereabouts(const struct rw_operation *slot)
{
	bool returned = slot->known & RW_KNOWN_RETURN;
	if (slot->known & RW_KNOWN_TASK || is_excluded(slot))
		return 0;
	if (slot->flags & (returned ? RW_FLAG_IN_PROGRESS : RW_FLAG_ENTERED))
		return OPERATION_INSIDE;
	return returned ? OPERATION_UNKNOWN : 0;
}

static void update_operation(struct operation *operation, const struct rw_operation *slot, uint64_t launched_ns)
{
	if (slot->known & RW_KNOWN_API) {
		operation->api_ns = slot->api_ns;
		operation->tid = slot->api_tid;
	}
	if (launched_ns) {
		operation->launch_ns = launched_ns;
		operation->progress = slot->known & RW_KNOWN_LAUNCH ? slot->progress : 0;
		operation->state |= OPERATION_LAUNCHED;
	}
	if (slot->known & RW_KNOWN_STARTED && slot->started_seen_ns) {
		operation->arrival_ns = slot->started_seen_ns + (uint64_t)operation->queued_us * 1000;
		operation->state |= OPERATION_STARTED;
	} else if (launched_ns && !operation->progress) {
		operation->arrival_ns = launched_ns;
		operation->state |= OPERATION_STARTED | OPERATION_HOST;
	}
	if (slot->known & RW_KNOWN_DONE && slot->done_seen_ns) {
		operation->done_ns = slot->done_seen_ns;
		operation->state |= OPERATION_DONE;
		operation->state &= (uint16_t)~OPERATION_HOST;
	}
	if (slot->known & (RW_KNOWN_BEGAN | RW_KNOWN_STAMP))
		operation->state |= OPERATION_BEGAN;
	if (is_excluded(slot))
		operation->state |= OPERATION_EXCLUDED;
	if (slot->flags & RW_FLAG_PROGRESS_SAMPLED_OUT)
		operation->state |= OPERATION_APART;
	operation->flags = (uint8_t)slot->flags;
	operation->state &= (uint16_t)~(OPERATION_SCANNING | OPERATION_INSIDE | OPERATION_UNKNOWN);
	if (!launched_ns)
		operation->state |= whereabouts(slot);
	if (slot->owner & (RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT))
		operation->state |= OPERATION_SCANNING;
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

static void note_times(struct process *process, struct trace *trace, const struct rw_operation *slot,
		       uint64_t launched_ns)
{
	uint64_t moved_ns = later(slot->started_seen_ns, slot->done_seen_ns);

	process->gpu_moved_ns = later(process->gpu_moved_ns, moved_ns);
	process->last_launch_ns = later(process->last_launch_ns, launched_ns);
	process->last_ns = later(process->last_ns, later(moved_ns, later(slot->api_ns, launched_ns)));
	if (launched_ns != trace->launch_ns && slot->known & RW_KNOWN_API)
		evidence_note_call(&process->evidence, slot->api_tid, launched_ns);
	trace->launch_ns = launched_ns;
	if (slot->known & RW_KNOWN_DONE)
		trace->done_ns = slot->done_seen_ns;
}

/* A wait in it is not seen. */
static bool has_unknown_times(const struct rw_operation *slot)
{
	bool sampled_out = slot->flags & RW_FLAG_PROGRESS_SAMPLED_OUT && !(slot->known & RW_KNOWN_DONE);

	return is_excluded(slot) || sampled_out;
}

static void update(struct analysis *analysis, struct process *process, struct instance *instance, struct trace *trace,
		   const struct rw_operation *slot)
{
	struct operation *operation = &instance->operations[trace->member];
	bool was_settled = is_settled(operation);
	uint64_t launched_ns = launched_at(slot);
	note_times(process, trace, slot, launched_ns);
	update_operation(operation, slot, launched_ns);
	if ((slot->known & KERNEL_KNOWN) == KERNEL_KNOWN)
		kernel_start_note(&instance->communicator->members[trace->member], operation, slot);
	identify_detail(instance, slot);
	instance->done += !was_settled && is_settled(operation);
	if (slot->known & VALUES_KNOWN)
		values_note(analysis, instance, trace->member, slot);
	completion_check(analysis, instance);
}

static void note_mark(struct process *process, const struct rw_operation *slot)
{
	struct trace *trace = &process->trace[slot->ticket % JOB_TRACE];

	if (trace->ticket >= slot->ticket)
		return; /* known, or too old to matter */
	*trace = (struct trace){
		.ticket = slot->ticket,
		.rank = JOB_NONE,
		.communicator = JOB_NONE,
		.mark = true,
		.place.place = STEPS_NO_PLACE,
	};
	if (!process->operations && slot->ticket == process->marks_before + 1)
		process->marks_before++;
	steps_mark(&process->steps, slot->count, slot->ticket, slot->group == RW_STEP_TAG);
}

/* NCCL 2.26 and 2.27 do not count replays (ncclProfilerStartTaskEvents(), src/plugin/profiler.cc): what has the number
 * of the one before is one, or follows one. They report those alone in which the rank's proxy has work. */
static void note_task(const struct process *process, const struct membership *membership, struct trace *trace,
		      const struct rw_operation *slot)
{
	uint64_t *next = &job_member_of(membership)->next_task[slot->function];

	if (!process->counts_tasks || trace->numbered || !(slot->known & RW_KNOWN_TASK) ||
	    identify_is_point_to_point(slot->function))
		return;
	trace->numbered = true;
	membership->communicator->uneven |= *next && slot->nccl_sequence + 1 == *next;
	*next = slot->nccl_sequence + 1;
}

int intake_operation(struct analysis *analysis, struct process *process, const struct rw_operation *slot)
{
	if (slot->ticket && rw_is_step_mark(slot->known)) {
		note_mark(process, slot);
		return 0;
	}
	if (!slot->ticket || !(slot->known & RW_KNOWN_IDENT))
		return 0;
	if (job_was_left(process, slot->comm))
		return 0;
	if (slot->comm >= process->membership_count || !process->memberships[slot->comm].communicator ||
	    slot->function >= RW_FUNCTION_COUNT || slot->dtype >= RW_DTYPE_COUNT)
		return -EINVAL;
	const struct membership *membership = &process->memberships[slot->comm];
	if (slot->flags & RW_FLAG_CAPTURED) {
		bool is_replay =
		    slot->sequence & RW_CAPTURED_SEQUENCE && slot->api_ns >= job_member_of(membership)->created_ns;
		if (is_replay && slot->known & RW_KNOWN_TASK)
			timed_replays_note(analysis, process, membership, slot);
		else if (is_replay)
			replays_note(analysis, process, membership, slot);
		return 0;
	}
	if (slot->sequence & RW_CAPTURED_SEQUENCE)
		return -EINVAL; /* would be taken for a replay that never got a place */
	struct trace *trace = &process->trace[slot->ticket % JOB_TRACE];
	if (trace->ticket > slot->ticket)
		return 0; /* too old to matter */
	if (trace->ticket != slot->ticket && slot->api_ns && slot->api_ns < job_member_of(membership)->created_ns)
		return 0; /* of an earlier owner of the entry */
	if (trace->ticket != slot->ticket)
		trace = new_trace(analysis, process, membership, slot);
	trace->times_unknown = has_unknown_times(slot);
	note_task(process, membership, trace, slot);
	if (is_excluded(slot) && identify_is_point_to_point(slot->function))
		job_member_of(membership)->unfollowed_transfer = true;
	struct instance *instance = trace_instance(trace);
	if (!instance && trace->instance)
		return 0; /* finished and forgotten */
	if (membership->communicator->uneven)
		return 0;
	if (!instance && is_excluded(slot) && !(slot->known & VALUES_KNOWN)) {
		trace->instance = NULL;
		return 0;
	}
	/* The peer of a p2p operation is known with its task only. */
	if (!instance && identify_is_point_to_point(slot->function) && !(slot->known & (RW_KNOWN_TASK | RW_KNOWN_CALL)))
		return 0;
	if (!instance) {
		join(analysis, membership, trace, slot);
		instance = trace->instance;
	}
	if (!instance)
		return 0;
	update(analysis, process, instance, trace, slot);
	return 0;
}
