/* SPDX-License-Identifier: MIT */
#include "analysis/measure/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/measure/flights.h"
#include "analysis/known/process.h"
#include "analysis/known/trace.h"

enum {
	LOOK_AHEAD = 16, /* streams are in order: those who wait, wait in the oldest instances */
	LOOK_AHEAD_P2P = 4096, /* each pair is in order by itself, and a pipeline's hosts enqueue a step ahead */
};

static bool is_held(const struct process *process)
{
	return process->life != ANALYSIS_ALIVE;
}

/* Launched there and not done, by what the GPU says. */
static bool is_in_flight(const struct instance *instance, uint32_t member)
{
	uint16_t state = flight_state(instance, member);
	return (state & (OPERATION_LAUNCHED | OPERATION_DONE | OPERATION_HOST)) == OPERATION_LAUNCHED;
}

/* Has the rank something before it there that is not through? */
static bool is_behind(const struct instance *instance, uint32_t member)
{
	const struct instance *at = instance->communicator->unfinished_first;
	for (; at && at != instance; at = at->next)
		if (is_in_flight(at, member))
			return true;
	return false;
}

/* By the host alone where the GPU writes progress for others: then it is not there while one before it is not
 * through. */
static bool is_ahead_of_gpu(const struct instance *instance, uint32_t member, uint16_t state)
{
	const uint16_t by_host = OPERATION_HOST | OPERATION_APART;
	return (state & by_host) == by_host && is_behind(instance, member);
}

static bool has_arrived(const struct instance *instance, uint32_t member)
{
	uint16_t state = flight_state(instance, member);
	return state & OPERATION_STARTED && !(state & OPERATION_DONE) && !is_ahead_of_gpu(instance, member, state);
}

/* Whether it holds of the rank in an unfinished instance of any of its communicators. */
static bool is_anywhere(const struct process *process, uint32_t rank, bool (*holds)(const struct instance *, uint32_t))
{
	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct membership *membership = &process->memberships[i];
		if (!membership->communicator || job_member_of(membership)->rank != rank)
			continue;
		for (const struct instance *at = membership->communicator->unfinished_first; at; at = at->next)
			if (holds(at, membership->member))
				return true;
	}
	return false;
}

static bool is_ahead_of_its_gpu(const struct instance *instance, uint32_t member)
{
	return is_in_flight(instance, member) && !has_arrived(instance, member);
}

/* Then a host that sits in a call may wait for its GPU. */
bool waiting_is_held_up_by_gpu(const struct process *process, uint32_t rank)
{
	return is_anywhere(process, rank, is_ahead_of_its_gpu);
}

/* NCCL connects on the host, before the launch. */
bool waiting_connects(const struct instance *instance, uint32_t member)
{
	const struct member *seen = &instance->communicator->members[member];
	uint16_t state = flight_state(instance, member);
	return state & OPERATION_INSIDE && !(state & OPERATION_DONE) && !is_behind(instance, member) &&
	       !waiting_is_held_up_by_gpu(seen->process, seen->rank);
}

bool waiting_stands(const struct instance *instance, uint32_t member)
{
	return has_arrived(instance, member) || waiting_connects(instance, member);
}

/* Then none of them stands in a collective of this communicator before it any more. */
static bool has_gpu_come(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if ((flight_state(instance, i) & (OPERATION_STARTED | OPERATION_HOST)) == OPERATION_STARTED)
			return true;
	return false;
}

static bool is_seen_to_have_ended(const struct trace *trace)
{
	const struct instance *instance = trace_instance(trace);
	uint16_t state = instance ? flight_state(instance, trace->member) : 0;

	if (trace->times_unknown || state & OPERATION_HOST)
		return false;
	return trace->done_ns || state & OPERATION_DONE;
}

/* Has it been launched, and where its GPU is then follows nobody? */
static bool is_unfollowed(const struct trace *trace)
{
	const struct instance *instance = trace_instance(trace);

	return trace->launch_ns &&
	       (trace->times_unknown || (instance && flight_state(instance, trace->member) & OPERATION_HOST));
}

/* Whoever has ended this one has waited for all there. */
static bool holds_nobody(const struct trace *trace, bool through)
{
	const struct instance *instance = trace_instance(trace);

	return (through && (!instance || instance_keeps_all(instance))) || is_seen_to_have_ended(trace);
}

bool waiting_may_stand_before(const struct instance *instance, uint32_t member)
{
	const struct communicator *communicator = instance->communicator;
	const struct process *process = communicator->members[member].process;
	uint64_t ticket = instance->operations[member].ticket, oldest = trace_oldest(ticket);
	bool through = instance_keeps_all(instance) && has_gpu_come(instance);

	if (!is_in_flight(instance, member))
		return false;
	while (--ticket >= oldest) {
		const struct trace *trace = trace_find(process, ticket);
		if (!trace || trace->mark || trace->rank != communicator->members[member].rank)
			continue;
		if (trace->communicator == communicator->index && holds_nobody(trace, through))
			return false;
		if (is_unfollowed(trace))
			return true;
	}
	return false;
}

bool waiting_misses(const struct instance *instance, uint32_t member)
{
	const struct member *seen = &instance->communicator->members[member];
	if (!instance_concerns(instance, member))
		return false;
	uint16_t state = flight_state(instance, member);
	if (state & (OPERATION_DONE | OPERATION_UNKNOWN))
		return false;
	if (state)
		return is_held(seen->process) ||
		       !(waiting_stands(instance, member) || waiting_may_stand_before(instance, member));
	return instance_awaits(instance, member);
}

static bool lacks_an_end(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (waiting_misses(instance, i))
			return true;
	return false;
}

bool waiting_is_tied(const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;

	if (!instance_is_point_to_point(instance))
		return false;
	for (const struct instance *at = communicator->unfinished_first; at; at = at->next) {
		bool shared = false;
		for (uint32_t i = 0; at != instance && i < communicator->member_count; i++)
			shared |= instance_concerns(instance, i) && instance_is_point_to_point(at) &&
				  instance_concerns(at, i) && waiting_stands(at, i);
		if (shared && lacks_an_end(at))
			return true;
	}
	return false;
}

/* Without GPU times a rank waits only since it launched its last operation anywhere. */
static uint64_t waits_since(const struct instance *instance, uint32_t member)
{
	const struct operation *operation = &instance->operations[member];
	const struct process *process = instance->communicator->members[member].process;
	if (operation->state & OPERATION_INSIDE)
		return operation->api_ns;
	if (!(operation->state & OPERATION_STARTED))
		return process->last_launch_ns; /* known from the GPU page only */
	bool host = operation->state & OPERATION_HOST;
	return host && process->last_launch_ns > operation->arrival_ns ? process->last_launch_ns
								       : operation->arrival_ns;
}

/* By what its GPU did: who has given the communicator up has ended nothing. */
static bool has_ended(const struct instance *instance, uint32_t member)
{
	uint16_t state = flight_state(instance, member);
	return state & OPERATION_DONE && !(state & (OPERATION_HOST | OPERATION_EXCLUDED)) &&
	       !instance->communicator->members[member].ended;
}

/* All others have ended what none can end before all have come: the one that is still in there waits for none of
 * them. */
static bool is_left_behind(const struct instance *instance, uint32_t member)
{
	if (!instance_keeps_all(instance) || instance->communicator->member_count < 2)
		return false;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (i != member && !has_ended(instance, i))
			return false;
	return true;
}

static bool is_in_what_others_ended(const struct instance *instance, uint32_t member)
{
	return has_arrived(instance, member) && is_left_behind(instance, member);
}

bool waiting_is_left_behind(const struct process *process, uint32_t rank)
{
	return is_anywhere(process, rank, is_in_what_others_ended);
}

/* A process that has ended does not come any more, nor one that is stopped before it goes on, and this operation needs
 * everybody. */
static bool lacks_a_held_rank(const struct instance *instance)
{
	if (!instance_keeps_all(instance))
		return false;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (is_held(instance->communicator->members[i].process) && waiting_misses(instance, i))
			return true;
	return false;
}

/* Whoever has launched what cannot end any more waits in vain, wherever its GPU stands: small operations before this
 * one may have no GPU progress. */
static bool waits_in_vain(const struct instance *instance, uint32_t member)
{
	return is_in_flight(instance, member) && !process_is_dead(instance->communicator->members[member].process);
}

/* One that waits in vain has come as far as its GPU was last seen to move. One that was stopped meanwhile, perhaps with
 * all others, waits since it went on. */
static uint64_t since_when(const struct instance *instance, uint32_t member)
{
	const struct process *process = instance->communicator->members[member].process;
	uint64_t since_ns = waits_since(instance, member);
	if (!waiting_stands(instance, member) && process->gpu_moved_ns > since_ns)
		since_ns = process->gpu_moved_ns;
	return process->life == ANALYSIS_ALIVE && process->life_ns > since_ns ? process->life_ns : since_ns;
}

static int look_at(struct waiting *waiting, const struct instance *instance)
{
	struct standing standing = { .instance = instance };
	bool in_vain = lacks_a_held_rank(instance);
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		standing.missing += waiting_misses(instance, i);
		bool waits = waiting_stands(instance, i) || (in_vain && waits_in_vain(instance, i));
		if (!waits || is_left_behind(instance, i))
			continue;
		uint64_t since_ns = since_when(instance, i);
		if (!is_held(instance->communicator->members[i].process)) {
			waiting->blocked[instance->communicator->members[i].rank] = true;
			standing.since_ns = since_ns > standing.since_ns ? since_ns : standing.since_ns;
		}
		standing.waiters++;
	}
	if (!standing.waiters)
		return 0;
	if (waiting->count == waiting->room) {
		size_t room = waiting->room ? waiting->room * 2 : 16;
		struct standing *standings = realloc(waiting->standings, room * sizeof(*standings));
		if (!standings)
			return -ENOMEM;
		waiting->standings = standings;
		waiting->room = room;
	}
	waiting->standings[waiting->count++] = standing;
	return 0;
}

/* Who waits in the init of another communicator comes nowhere else, and for the sake of others: analysis/hang/inits.h.
 * A launch since then shows that it waits there no more, or not with all of its threads. */
static bool waits_in_init(const struct process *process)
{
	uint64_t since_ns = process->init.since_ns;

	return since_ns && !process_is_dead(process) && process->last_launch_ns < since_ns;
}

int waiting_look(struct waiting *waiting, const struct job *job)
{
	*waiting = (struct waiting){ .blocked = calloc(job->rank_count + 1, sizeof(bool)) };
	if (!waiting->blocked)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct instance *instance = job->communicators[i]->unfinished_first;
		uint32_t ahead = job->communicators[i]->uneven           ? 0
				 : job->communicators[i]->point_to_point ? LOOK_AHEAD_P2P
									 : LOOK_AHEAD;
		for (uint32_t n = 0; instance && n < ahead; n++, instance = instance->next)
			if (look_at(waiting, instance))
				return -ENOMEM;
	}
	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->standings[i].since_ns && waiting->standings[i].since_ns < job->resumed_ns)
			waiting->standings[i].since_ns = job->resumed_ns;
	for (uint32_t i = 0; i < job->rank_count; i++)
		waiting->blocked[i] |= waits_in_init(job->ranks[i].process);
	return 0;
}

bool waiting_is_root(const struct waiting *waiting, const struct standing *standing, uint32_t member)
{
	const struct member *seen = &standing->instance->communicator->members[member];
	if (!waiting_misses(standing->instance, member))
		return false;
	return is_held(seen->process) || !waiting->blocked[seen->rank];
}

const struct process *waiting_watchdog(const struct waiting *waiting, const struct job *job, uint32_t except)
{
	const struct process *first = NULL;
	for (uint32_t i = 0; i < job->rank_count; i++) {
		const struct process *process = job->ranks[i].process;
		if (!waiting->blocked[i] || i == except || !process->watchdog_ms)
			continue;
		if (!first || process->watchdog_ms < first->watchdog_ms)
			first = process;
	}
	return first;
}

void waiting_free(struct waiting *waiting)
{
	free(waiting->standings);
	free(waiting->blocked);
	*waiting = (struct waiting){ 0 };
}
