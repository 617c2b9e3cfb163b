/* SPDX-License-Identifier: MIT */
#include "analysis/match/completion.h"

#include "analysis/known/kernel_start.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"

/* The boxes of a job have been found this long after the first. */
static const uint64_t appear_ns = 2000000000;

void completion_account(struct analysis *analysis, struct instance *instance)
{
	straggler_account(analysis, instance);
	transfer_account(analysis, instance);
}

/* Asked after each of its operations: the member that lacked last time is looked at first, or each would be looked at
 * as often as there are members. */
static bool is_complete(struct instance *instance, uint64_t now_ns)
{
	uint32_t count = instance->communicator->member_count;

	if (instance->done < instance->joined || !instance->joined)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t member = (instance->lacking + i) % count;
		if (instance_lacks(instance, member)) {
			instance->lacking = member;
			return false;
		}
	}
	return !kernel_start_is_awaited(instance, now_ns);
}

/* Without GPU times an operation is over at the earliest when the last rank has come: for those who came before. */
static void close_host_operations(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!(operation->state & OPERATION_HOST) ||
		    operation->arrival_ns + LATENESS_NOISE_NS > instance->start_ns)
			continue;
		struct trace *trace = &instance->communicator->members[i].process->trace[operation->ticket % JOB_TRACE];
		if (trace->ticket == operation->ticket && !trace->done_ns)
			trace->done_ns = instance->start_ns;
	}
}

/* What a rank did before is known only while its trace is: older history is not judged. */
static bool is_traced(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		uint64_t ticket = instance->operations[i].ticket;
		const struct process *process = instance->communicator->members[i].process;
		if (ticket && process->trace[ticket % JOB_TRACE].ticket != ticket)
			return false;
	}
	return true;
}

static void note_unfollowed(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++)
		if (instance_is_point_to_point(instance) && instance->operations[i].state & OPERATION_HOST)
			instance->communicator->members[i].unfollowed_transfer = true;
}

static void finish(struct analysis *analysis, struct instance *instance)
{
	instances_finish(&analysis->instances, instance);
	note_unfollowed(instance);
	kernel_start_apply(instance);
	account_note(&analysis->account, instance);
	if (!is_traced(instance))
		return;
	lateness_judge(&analysis->job, instance);
	close_host_operations(instance);
	uint64_t wait_ns = instance->created_ns && instance->start_ns > instance->created_ns
			       ? instance->start_ns - instance->created_ns
			       : 0;
	if (wait_ns > analysis->stragglers.longest_wait_ns)
		analysis->stragglers.longest_wait_ns = wait_ns;
	if (instance->place_member != JOB_NONE)
		completion_account(analysis, instance);
}

void completion_check(struct analysis *analysis, struct instance *instance)
{
	if (!instance->finished && instance->done >= instance->joined && !job_unseen(instance->communicator) &&
	    is_complete(instance, analysis->now_ns))
		finish(analysis, instance);
}

/* Boxes are found one after the other: a communicator that is not seen whole may only not be seen whole yet. */
static bool may_finish(struct communicator *communicator, uint64_t now_ns)
{
	if (!job_unseen(communicator))
		return true;
	if (communicator->settled_count != communicator->member_count) {
		communicator->settled_count = communicator->member_count;
		communicator->settled_ns = now_ns;
	}
	return now_ns - communicator->settled_ns >= appear_ns;
}

void completion_sweep(struct analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->job.communicator_count; i++) {
		struct communicator *communicator = analysis->job.communicators[i];
		if (!may_finish(communicator, analysis->now_ns))
			continue;
		struct instance *next;
		for (struct instance *at = communicator->unfinished_first; at; at = next) {
			next = at->next;
			if (is_complete(at, analysis->now_ns))
				finish(analysis, at);
		}
	}
}
