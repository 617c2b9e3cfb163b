/* SPDX-License-Identifier: MIT */
#include "analysis/steps/numbering.h"

#include <stddef.h>

static bool is_disputed(const struct process *process)
{
	const struct dispute *dispute = &process->dispute;

	return dispute->with && dispute->version == process->steps.version &&
	       dispute->version_with == dispute->with->steps.version;
}

static void object(struct process *process, const struct process *other)
{
	process->dispute = (struct dispute){ other, process->steps.version, other->steps.version };
}

static void settle(struct process *process, const struct process *other)
{
	if (process->dispute.with == other)
		process->dispute.with = NULL;
}

/* Known by the current version of a process that is certain of its number. */
static bool is_claim(const struct process *process, const struct steps_place *place, uint32_t version)
{
	return place->place != STEPS_NO_PLACE && version == process->steps.version &&
	       steps_told(&process->steps, place->step) >= 0;
}

static void agree_or_object(struct process *one, struct process *other, bool same)
{
	if (same) {
		settle(one, other);
		settle(other, one);
	} else {
		object(one, other);
		object(other, one);
	}
}

void numbering_compare(struct instance *instance, const struct trace *trace)
{
	struct member *members = instance->communicator->members;

	if (instance->place_member == JOB_NONE || instance->place_member == trace->member ||
	    instance_is_replay(instance))
		return;
	struct process *lender = members[instance->place_member].process, *process = members[trace->member].process;
	if (lender == process || lender->steps.marked || process->steps.marked ||
	    !is_claim(lender, &instance->place, instance->steps_version) ||
	    !is_claim(process, &trace->place, trace->steps_version))
		return;
	agree_or_object(lender, process, instance->place.step == trace->place.step);
}

void numbering_compare_marked(const struct instance *instance, const struct trace *trace)
{
	struct member *members = instance->communicator->members;
	struct process *first = members[instance->marked_member].process, *process = members[trace->member].process;
	int64_t number = steps_marked_number(&process->steps, trace->ticket);
	int64_t before = steps_marked_number(&first->steps, instance->marked_ticket);

	if (first != process && number >= 0 && before >= 0)
		agree_or_object(first, process, number == before);
}

void numbering_compare_all(struct instance *instance)
{
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		uint64_t ticket = instance->operations[i].ticket;
		const struct process *process = instance->communicator->members[i].process;
		const struct trace *trace = &process->trace[ticket % JOB_TRACE];
		if (ticket && trace->ticket == ticket)
			numbering_compare(instance, trace);
	}
}

/* Whether the process's own numbers may be told: nobody who numbers steps in the same way is in dispute. */
static bool may_tell(const struct process *process)
{
	for (uint32_t i = 0; i < process->of_job->process_count; i++) {
		const struct process *other = process->of_job->processes[i];
		if (other->steps.marked && !process->steps.marked)
			return false;
		if (other->steps.marked == process->steps.marked && is_disputed(other))
			return false;
	}
	return true;
}

int64_t numbering_told(const struct process *process, uint64_t step)
{
	return may_tell(process) ? steps_told(&process->steps, step) : -1;
}

int64_t numbering_told_at(const struct process *process, uint64_t ticket)
{
	return may_tell(process) ? steps_marked_number(&process->steps, ticket) : -1;
}

int64_t numbering_count(const struct process *process)
{
	const struct steps *steps = &process->steps;

	return steps->marked ? (int64_t)(steps->step - steps->marks.first_step + 1)
			     : numbering_told(process, steps->step);
}
