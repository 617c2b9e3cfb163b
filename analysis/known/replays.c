/* SPDX-License-Identifier: MIT */
#include "analysis/known/replays.h"

#include <stdlib.h>

#include "analysis/known/identify.h"
#include "analysis/model.h"
#include "analysis/known/values.h"

/* Kept apart by call and function; a replay is its step. */
static void place(struct instance *instance)
{
	instance->place_member = 0;
	instance->place = (struct steps_place){
		.place = (uint32_t)rw_captured_call(instance->sequence) * RW_FUNCTION_COUNT + instance->function,
		.step = rw_captured_replay(instance->sequence),
	};
}

static void remember(struct process *process, const struct membership *membership, struct instance *instance,
		     uint64_t ticket)
{
	if (!process->replays)
		process->replays = calloc(JOB_TRACE, sizeof(*process->replays));
	if (!process->replays)
		return;
	process->replays[process->replay_count++ % JOB_TRACE] = (struct trace){
		.ticket = ticket,
		.instance = instance,
		.serial = instance->serial,
		.member = membership->member,
		.rank = membership->communicator->members[membership->member].rank,
		.communicator = membership->communicator->index,
		.place.place = STEPS_NO_PLACE,
	};
}

static void join(struct process *process, const struct membership *membership, struct instance *instance,
		 struct operation *operation, const struct rw_operation *slot)
{
	struct member *member = &membership->communicator->members[membership->member];
	uint64_t calls = rw_captured_call(slot->sequence) + 1;

	instance->joined += !operation->ticket;
	operation->ticket = slot->ticket;
	operation->state = OPERATION_JOINED | OPERATION_EXCLUDED;
	if (member->replayed[slot->function] < calls)
		member->replayed[slot->function] = calls;
	remember(process, membership, instance, slot->ticket);
}

void replays_note(struct analysis *analysis, struct process *process, const struct membership *membership,
		  const struct rw_operation *slot)
{
	struct instance_key key = identify_key(membership, slot);
	struct instance *instance = instances_get(&analysis->instances, membership->communicator, &key, slot->api_ns);
	struct operation *operation =
	    instance ? instance_operation(&analysis->instances, instance, membership->member) : NULL;

	if (!operation)
		return;
	if (!instance->finished) {
		instance->created_ns = slot->api_ns;
		instances_finish(&analysis->instances, instance);
		place(instance);
	}
	identify_describe(instance, slot);
	if (operation->ticket > slot->ticket)
		return;
	if (operation->ticket != slot->ticket)
		join(process, membership, instance, operation, slot);
	operation->flags = (uint8_t)slot->flags;
	operation->state &= (uint8_t)~OPERATION_SCANNING;
	if (slot->owner & (RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT))
		operation->state |= OPERATION_SCANNING;
	if (slot->known & VALUES_KNOWN)
		values_note(analysis, instance, membership->member, slot);
}

uint32_t replays_count(const struct process *process)
{
	return process->replay_count < JOB_TRACE ? (uint32_t)process->replay_count : JOB_TRACE;
}

const struct trace *replays_at(const struct process *process, uint32_t i)
{
	uint64_t number = process->replay_count - replays_count(process) + i;
	const struct trace *trace = &process->replays[number % JOB_TRACE];

	return trace->instance->serial == trace->serial ? trace : NULL;
}

bool replays_tell_all(const struct member *member)
{
	uint64_t calls = 0;

	for (int i = 0; i < RW_FUNCTION_COUNT; i++)
		calls += member->replayed[i];
	return calls >= member->captured;
}

/* The one before it of the same call was scanned, too: budget and share leave none out in between. */
static bool follows(const struct process *process, const struct instance *instance)
{
	if (!rw_captured_replay(instance->sequence))
		return true;
	for (uint32_t i = 0; i < replays_count(process); i++) {
		const struct trace *trace = replays_at(process, i);
		if (trace && trace->instance->communicator == instance->communicator &&
		    trace->instance->function == instance->function &&
		    trace->instance->sequence == instance->sequence - 1)
			return true;
	}
	return false;
}

bool replays_may_hide(const struct process *process, uint32_t rank, const struct instance *instance, uint64_t ticket)
{
	if (!instance_is_replay(instance))
		return process->replay_count != 0; /* which of them came before it is not known */
	for (uint32_t i = 0; i < replays_count(process); i++) {
		const struct trace *trace = replays_at(process, i);
		if (trace && trace->rank == rank && trace->ticket < ticket &&
		    value_matters(trace->instance, trace->member, VALUE_OUT) &&
		    value_state(trace->instance, trace->member, VALUE_OUT) == VALUE_UNKNOWN)
			return true;
	}
	return !follows(process, instance);
}
