/* SPDX-License-Identifier: MIT */
#include "analysis/known/trace.h"

#include "analysis/known/replays.h"

const struct trace *trace_find(const struct process *process, uint64_t ticket)
{
	const struct trace *trace = &process->trace[ticket % JOB_TRACE];

	if (trace->ticket == ticket)
		return trace;
	trace = process->timed ? &process->timed[ticket % JOB_TRACE] : NULL;
	return trace && trace->ticket == ticket ? trace : NULL;
}

bool trace_is_forgotten(const struct trace *trace)
{
	return trace->instance && trace->instance->serial != trace->serial;
}

uint64_t trace_newest_operation(const struct process *process)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < JOB_TRACE; i++)
		if (process->trace[i].ticket > newest)
			newest = process->trace[i].ticket;
	return newest;
}

uint64_t trace_newest(const struct process *process)
{
	uint64_t newest = trace_newest_operation(process);

	for (uint32_t i = 0; i < replays_count(process); i++) {
		const struct trace *trace = replays_at(process, i);
		if (trace && trace->ticket > newest)
			newest = trace->ticket;
	}
	return newest;
}

uint64_t trace_oldest(uint64_t newest)
{
	return newest > JOB_TRACE ? newest - JOB_TRACE + 1 : 1;
}
