/* SPDX-License-Identifier: MIT */
#include "analysis/match/timed_replays.h"

#include <stdlib.h>

#include "analysis/known/identify.h"
#include "analysis/known/kernel_start.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"

static bool keep_trace(struct process *process, const struct membership *membership, struct instance *instance,
		       const struct rw_operation *slot)
{
	if (!process->timed)
		process->timed = calloc(JOB_TRACE, sizeof(*process->timed));
	if (!process->timed)
		return false;
	process->timed[slot->ticket % JOB_TRACE] = (struct trace){
		.ticket = slot->ticket,
		.instance = instance,
		.serial = instance->serial,
		.member = membership->member,
		.rank = membership->communicator->members[membership->member].rank,
		.communicator = membership->communicator->index,
		.done_ns = instance->operations[membership->member].done_ns,
		.place.place = STEPS_NO_PLACE,
	};
	if (slot->ticket > process->newest_timed)
		process->newest_timed = slot->ticket;
	return true;
}

static void note_progress(struct process *process, const struct rw_operation *slot)
{
	if (!(slot->known & RW_KNOWN_DONE))
		return;
	if (slot->done_seen_ns > process->last_ns)
		process->last_ns = slot->done_seen_ns;
	if (slot->done_seen_ns > process->gpu_moved_ns)
		process->gpu_moved_ns = slot->done_seen_ns;
}

/* The numbers of the call and of its replay are equal on all ranks of a program that captures and replays the same
 * everywhere. NCCL's number is equal for one operation whatever the program does. */
static void compare_numbers(struct instance *instance, const struct rw_operation *slot)
{
	if (!instance->joined)
		instance->nccl_sequence = slot->nccl_sequence;
	instance->unlike |= instance->nccl_sequence != slot->nccl_sequence;
}

static void judge(struct analysis *analysis, struct instance *instance)
{
	if (instance->joined < instance->communicator->member_count || job_unseen(instance->communicator) ||
	    instance->unlike)
		return;
	if (!instance->excluded)
		lateness_judge(&analysis->job, instance);
	instance->whole = true;
	account_note(&analysis->account, instance);
}

void timed_replays_note(struct analysis *analysis, struct process *process, const struct membership *membership,
			const struct rw_operation *slot)
{
	const uint32_t times = RW_KNOWN_STAMP | RW_KNOWN_STARTED | RW_KNOWN_DONE;
	struct instance_key key = identify_key(membership, slot);
	key.timed = true;
	struct instance *instance = instances_get(&analysis->instances, membership->communicator, &key, slot->api_ns);
	struct operation *operation =
	    instance ? instance_operation(&analysis->instances, instance, membership->member) : NULL;

	if (!operation || operation->ticket)
		return;
	if (!instance->finished) {
		instance->created_ns = slot->api_ns;
		instances_finish(&analysis->instances, instance);
	}
	note_progress(process, slot);
	identify_describe(instance, slot);
	compare_numbers(instance, slot);
	instance->joined++;
	operation->ticket = slot->ticket;
	operation->state = OPERATION_JOINED;
	if ((slot->known & times) != times ||
	    !kernel_start_place_replay(&membership->communicator->members[membership->member], operation, slot)) {
		operation->state = OPERATION_JOINED | OPERATION_EXCLUDED;
		instance->excluded++;
	}
	if (keep_trace(process, membership, instance, slot))
		judge(analysis, instance);
}
