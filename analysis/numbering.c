/* SPDX-License-Identifier: MIT */
#include "analysis/numbering.h"

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

void numbering_compare(struct instance *instance, const struct trace *trace)
{
	struct member *members = instance->communicator->members;

	if (instance->place_member == JOB_NONE || instance->place_member == trace->member ||
	    instance_is_replay(instance))
		return;
	struct process *lender = members[instance->place_member].process, *process = members[trace->member].process;
	if (lender == process || !is_claim(lender, &instance->place, instance->steps_version) ||
	    !is_claim(process, &trace->place, trace->steps_version))
		return;
	if (instance->place.step == trace->place.step) {
		settle(lender, process);
		settle(process, lender);
	} else {
		object(lender, process);
		object(process, lender);
	}
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

int64_t numbering_told(const struct process *process, uint64_t step)
{
	for (uint32_t i = 0; i < process->of_job->process_count; i++)
		if (is_disputed(process->of_job->processes[i]))
			return -1;
	return steps_told(&process->steps, step);
}
