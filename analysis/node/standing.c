/* SPDX-License-Identifier: MIT */
#include "analysis/node/standing.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/cause_text.h"
#include "analysis/measure/flights.h"
#include "analysis/hang/hang.h"
#include "analysis/hang/hang_verdict.h"
#include "analysis/model.h"
#include "analysis/node/orders.h"
#include "analysis/known/call_order.h"
#include "analysis/known/process.h"
#include "analysis/report/text.h"
#include "analysis/measure/waiting.h"

static uint8_t phase_of(const struct instance *instance, uint32_t member, uint16_t state)
{
	if (state & OPERATION_STARTED && !(state & OPERATION_HOST))
		return RW_PHASE_RUNNING;
	if (state & OPERATION_LAUNCHED)
		return RW_PHASE_LAUNCHED;
	return waiting_connects(instance, member) ? RW_PHASE_CONNECT : RW_PHASE_ENQUEUED;
}

static uint64_t came_at(const struct instance *instance, uint32_t member)
{
	const struct operation *operation = &instance->operations[member];
	uint64_t moved_ns = instance->communicator->members[member].process->gpu_moved_ns;

	if (operation->state & OPERATION_STARTED)
		return operation->arrival_ns;
	uint64_t since_ns = operation->launch_ns ? operation->launch_ns : operation->api_ns;
	return moved_ns > since_ns ? moved_ns : since_ns;
}

/* Since it came there. Where only the GPU page's words tell that it has, it was after the GPU had moved last. Since
 * the caller went on, where that was stopped itself: the rank may have been, too. */
static uint64_t since_when(const struct job *job, const struct instance *instance, uint32_t member)
{
	uint64_t since_ns = came_at(instance, member);

	return job->resumed_ns > since_ns ? job->resumed_ns : since_ns;
}

/* A member on this host that lives and has not arrived; JOB_NONE: none. */
static uint32_t whom_it_awaits(const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;

	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (waiting_misses(instance, i) && communicator->members[i].process->life == ANALYSIS_ALIVE)
			return communicator->members[i].rank;
	return JOB_NONE;
}

/* For which rank of this host it waits, so that a circle of ranks is found that leads over several hosts. */
static void set_awaited(struct rw_message_flight *flight, const struct job *job, const struct instance *instance)
{
	uint32_t awaited = whom_it_awaits(instance);

	if (awaited == JOB_NONE || job->ranks[awaited].world < 0)
		return;
	flight->flags |= RW_MESSAGE_AWAITS;
	flight->awaits = job->ranks[awaited].world;
}

/* Whether it is a transfer between two ranks that the rank's GPU may have reached. Without GPU progress that is not
 * known. */
static bool may_transfer(const struct instance *instance, uint32_t i)
{
	return instance_is_point_to_point(instance) && instance_concerns(instance, i) &&
	       (waiting_stands(instance, i) || flight_state(instance, i) & (OPERATION_UNKNOWN | OPERATION_HOST));
}

/* Whether the rank's GPU has reached no transfer between two ranks but this operation, its first unfinished one. A
 * reader concludes from it that the rank has not come to any other transfer, so it is false wherever one may not have
 * been seen. */
static bool has_no_other_transfer(const struct instance *instance, uint32_t i)
{
	const struct member *member = &instance->communicator->members[i];

	if (!instance->communicator->point_to_point || !roster_follows_transfers(member))
		return false;
	if (instance_is_point_to_point(instance) && flight_state(instance, i) & OPERATION_HOST)
		return false;
	for (const struct instance *at = instance->next; at; at = at->next)
		if (may_transfer(at, i))
			return false;
	return true;
}

static uint8_t function_of(const struct instance *instance, uint32_t i)
{
	if (instance_is_point_to_point(instance))
		return instance->communicator->members[i].comm_rank == instance->source ? RW_FUNCTION_SEND
											: RW_FUNCTION_RECV;
	return instance->function | (instance->by_interposer ? RW_MESSAGE_APART : 0);
}

/* Members of a host share what is known of an operation: one that has made another call than its mates has called it
 * with another count, type or root. NULL: it has not. */
static const struct call *own_call(const struct instance *instance, uint32_t i)
{
	const struct call_order *order = instance->communicator->order;
	const struct caller *caller = order && order->parted ? call_order_caller(order, i) : NULL;

	for (uint32_t k = 0; caller && caller->since && k < caller->since_count; k++) {
		const struct call *call = &caller->since[k];
		if (call->function == instance->function && call->sequence == instance->sequence &&
		    call->unannounced == instance->by_interposer)
			return call;
	}
	return NULL;
}

static void tell_flight(const struct job *job, const struct instance *instance, uint32_t i, uint16_t state,
			struct outbox *outbox, uint64_t now_ns)
{
	struct rw_message message;
	const struct member *member = &instance->communicator->members[i];
	bool stands = waiting_stands(instance, i),
	     still = now_ns >= member->process->gpu_moved_ns + HANG_PROGRESS_WINDOW_NS;

	if (!roster_address(&message, job_member_rank(job, member), RW_MESSAGE_FLIGHT))
		return;
	message.function = function_of(instance, i);
	message.flight = (struct rw_message_flight){
		.comm = instance->communicator->told_id,
		.sequence = instance->sequence,
		.count = instance->count,
		.age_ms = roster_ms_since(since_when(job, instance, i), now_ns),
		.peer_or_root = instance->root_or_peer,
		.dtype = instance->dtype,
		.phase = phase_of(instance, i, state),
		.flags = (stands ? RW_MESSAGE_ARRIVED : 0) | (state & OPERATION_HOST ? RW_MESSAGE_BY_HOST : 0) |
			 (instance_keeps_all(instance) ? RW_MESSAGE_HOLDS : 0) | (still ? RW_MESSAGE_STILL : 0) |
			 (has_no_other_transfer(instance, i) ? RW_MESSAGE_NO_OTHER_TRANSFER : 0) |
			 (!stands && waiting_may_stand_before(instance, i) ? RW_MESSAGE_BEHIND : 0),
	};
	const struct call *own = own_call(instance, i);
	if (own) {
		message.flight.count = own->count;
		message.flight.dtype = own->dtype;
		message.flight.peer_or_root = own->root;
	}
	/* Who is the other end: as the instance has it, both ends' ranks are known. */
	if (instance_is_point_to_point(instance))
		message.flight.peer_or_root =
		    member->comm_rank == instance->source ? instance->target : instance->source;
	if (stands)
		set_awaited(&message.flight, job, instance);
	outbox_add(outbox, &message);
}

/* The first of each member that is not over. Of communicators of this host alone, too: whoever waits there is missing
 * elsewhere for the sake of another. */
static void tell_flights(const struct job *job, const struct communicator *communicator, struct outbox *outbox,
			 uint64_t now_ns)
{
	const struct instance *oldest = communicator->unfinished_first;
	uint32_t left = communicator->member_count;

	if (!oldest || oldest->created_ns + STANDING_AFTER_NS > now_ns)
		return;
	bool *told = calloc(left + 1, sizeof(*told));
	if (!told)
		return;
	for (const struct instance *at = oldest; at && left && at->created_ns + STANDING_AFTER_NS <= now_ns;
	     at = at->next) {
		for (uint32_t i = 0; i < communicator->member_count; i++) {
			if (told[i] || process_is_dead(communicator->members[i].process) || !instance_concerns(at, i))
				continue;
			uint16_t state = flight_state(at, i);
			if (!state || state & OPERATION_DONE)
				continue;
			told[i] = true;
			left--;
			tell_flight(job, at, i, state, outbox, now_ns);
		}
	}
	free(told);
}

/* In each communicator the first operation that is not over for it. */
static void tell_last_flights(const struct job *job, const struct process *process, uint32_t rank,
			      struct outbox *outbox, uint64_t now_ns)
{
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct membership *membership = &process->memberships[i];
		const struct communicator *communicator = membership->communicator;
		uint16_t state;
		if (!communicator || job_member_of(membership)->rank != rank)
			continue;
		for (const struct instance *at = communicator->unfinished_first; at; at = at->next) {
			if (!instance_concerns(at, membership->member) ||
			    !(state = flight_state(at, membership->member)) || state & OPERATION_DONE)
				continue;
			tell_flight(job, at, membership->member, state, outbox, now_ns);
			break;
		}
	}
}

void standing_tell_ends(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns)
{
	for (uint32_t i = 0; i < job->rank_count; i++) {
		const struct process *process = job->ranks[i].process;
		struct roster_rank *entry = roster_rank(roster, job, i);
		if (!entry || entry->end_told || !process_is_dead(process))
			continue;
		entry->end_told = true;
		tell_last_flights(job, process, i, outbox, now_ns);
	}
}

static uint64_t calls_of(const struct member *member)
{
	uint64_t calls = 0;

	for (int apart = 0; apart < 2; apart++)
		for (int function = 0; function < RW_FUNCTION_COUNT; function++)
			calls += member->last_sequence[apart][function];
	return calls;
}

static bool is_point_to_point(int function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV || function == RW_FUNCTION_SEND_RECV;
}

static void tell_calls(const struct job *job, const struct communicator *communicator, uint32_t i, uint64_t idle_ns,
		       struct outbox *outbox)
{
	const struct member *member = &communicator->members[i];
	const struct call_mark mark = orders_now(communicator, i);
	struct rw_message message;

	if (!roster_address(&message, job_member_rank(job, member), RW_MESSAGE_CALLS))
		return;
	message.calls.comm = communicator->told_id;
	message.calls.calls = mark.hash ? mark.calls : UINT64_MAX;
	message.calls.hash = mark.hash;
	message.calls.idle_ms = roster_ms_since(0, idle_ns);
	for (int apart = 0; apart < 2; apart++)
		for (int function = 0; function < RW_FUNCTION_COUNT; function++) {
			if (!member->last_sequence[apart][function] || is_point_to_point(function))
				continue;
			message.function = (uint8_t)function | (apart ? RW_MESSAGE_APART : 0);
			message.calls.next = member->last_sequence[apart][function];
			outbox_add(outbox, &message);
		}
}

/* Each time that it has stood twice as long, and every ROSTER_AGAIN_NS. */
static void note_calls(struct roster *roster, const struct job *job, const struct communicator *communicator,
		       uint32_t i, struct outbox *outbox, uint64_t now_ns)
{
	struct roster_member *entry = roster_member(roster, communicator, i);
	uint64_t called = calls_of(&communicator->members[i]);

	if (!entry)
		return;
	if (called != entry->called || !entry->moved_ns) {
		entry->called = called;
		entry->moved_ns = now_ns;
		entry->calls_ns = 0;
	}
	uint64_t idle_ns = now_ns - entry->moved_ns, told_ns = entry->calls_ns ? entry->calls_ns - entry->moved_ns : 0;
	bool again = idle_ns >= told_ns * 2 || now_ns >= entry->calls_ns + ROSTER_AGAIN_NS;
	/* Who waits in the init of another communicator comes nowhere else, and for the sake of others. */
	const struct process *process = communicator->members[i].process;
	if (idle_ns < STANDING_AFTER_NS || !again || process_is_dead(process) || process->init.since_ns)
		return;
	entry->calls_ns = now_ns;
	tell_calls(job, communicator, i, idle_ns, outbox);
}

/* Since it called anything. */
static uint64_t idle_since(const struct process *process)
{
	return process->last_launch_ns > process->first_ns ? process->last_launch_ns : process->first_ns;
}

static bool stands_anywhere(const struct process *process)
{
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct communicator *communicator = process->memberships[i].communicator;
		if (!communicator)
			continue;
		for (const struct instance *at = communicator->unfinished_first; at; at = at->next)
			if (waiting_stands(at, process->memberships[i].member))
				return true;
	}
	return false;
}

static bool is_silent(const struct process *process, uint64_t after_ns, uint64_t now_ns)
{
	return idle_since(process) && idle_since(process) + after_ns <= now_ns && !process_is_dead(process) &&
	       !stands_anywhere(process);
}

bool standing_is_silent(const struct process *process, uint64_t now_ns)
{
	return is_silent(process, STANDING_WHY_NS, now_ns);
}

uint64_t standing_since(const struct process *process)
{
	uint64_t since_ns = idle_since(process), kept_ns = evidence_since_ns(&process->evidence);

	return kept_ns > since_ns ? kept_ns : since_ns;
}

static void tell_why(struct roster *roster, const struct analysis *analysis, uint32_t i, struct outbox *outbox,
		     uint64_t now_ns)
{
	const struct rank *rank = &analysis->job.ranks[i];
	const struct process *process = rank->process;
	struct roster_rank *entry = roster_rank(roster, &analysis->job, i);
	struct rw_message message;
	struct cause cause;

	if (!entry || now_ns < entry->why_ns + STANDING_WHY_NS || !is_silent(process, STANDING_WHY_NS, now_ns) ||
	    !roster_address(&message, rank, RW_MESSAGE_WHY))
		return;
	entry->why_ns = now_ns;
	const struct cause_window window = { standing_since(process), now_ns };
	cause_find(&analysis->intern, process, process->enqueue_tid, &window, 1, &cause);
	if (process->life == ANALYSIS_STOPPED)
		cause.class_ = RW_CAUSE_STOPPED;
	bool seen = cause.seen != RW_LEVEL_NONE;
	bool gets_on = seen && cause_progress(&analysis->intern, process, process->enqueue_tid, false,
					      now_ns - STANDING_WHY_NS, now_ns);
	message.why.idle_ms = roster_ms_since(idle_since(process), now_ns);
	bool stands = seen && !hang_verdict_is_unseen(analysis, i, window.from_ns, now_ns);
	message.why.progress = gets_on ? RW_MESSAGE_GETS_ON : stands ? RW_MESSAGE_STANDS : RW_MESSAGE_PROGRESS_UNKNOWN;
	message.why.level = (uint8_t)cause.seen;
	message.why.class_ = (uint8_t)cause.class_;
	cause_text(message.why.text, sizeof(message.why.text), &cause, process);
	outbox_add(outbox, &message);
}

void standing_tick(struct roster *roster, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns)
{
	const struct job *job = &analysis->job;

	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];
		tell_flights(job, communicator, outbox, now_ns);
		for (uint32_t k = 0; roster_spans(communicator) && k < communicator->member_count; k++)
			note_calls(roster, job, communicator, k, outbox, now_ns);
	}
	for (uint32_t i = 0; i < job->rank_count; i++)
		tell_why(roster, analysis, i, outbox, now_ns);
}

static bool is_shared(const struct process *process)
{
	for (uint32_t i = 0; i < process->membership_count; i++)
		if (process->memberships[i].communicator && roster_spans(process->memberships[i].communicator))
			return true;
	return false;
}

size_t standing_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	const struct job *job = &analysis->job;
	size_t count = 0;

	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (!is_shared(process) || !is_silent(process, STANDING_AFTER_NS, analysis->now_ns))
			continue;
		if (count++ < room)
			suspects[count - 1] = (struct analysis_suspect){
				.process = process->id, .tid = process->enqueue_tid, .since_ns = idle_since(process)
			};
	}
	return count;
}
