/* SPDX-License-Identifier: MIT */
/* What a process's operations are found by: its traces, by ticket. */
#ifndef ANALYSIS_KNOWN_TRACE_H
#define ANALYSIS_KNOWN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/instances.h"

/* The operation, step mark or timed replay with that ticket; NULL: not known (any more). */
const struct trace *trace_find(const struct process *process, uint64_t ticket);
/* The instance that it stands for; NULL: none, or forgotten. */
static inline struct instance *trace_instance(const struct trace *trace)
{
	return trace->instance && trace->instance->serial == trace->serial ? trace->instance : NULL;
}
/* Did it have one that was forgotten since? */
bool trace_is_forgotten(const struct trace *trace);
/* Ticket of the newest operation; 0 none. */
uint64_t trace_newest_operation(const struct process *process);
/* Ticket of the newest operation or replay; 0 none. */
uint64_t trace_newest(const struct process *process);
/* The oldest ticket that can still be remembered next to the newest operation's. */
uint64_t trace_oldest(uint64_t newest);

#endif
