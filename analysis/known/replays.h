/* SPDX-License-Identifier: MIT */
/*
 * Replays of calls inside CUDA graphs: what their scans saw, and nothing else. They are no arrivals, have no place
 * among the calls of a communicator and are never unfinished; of their time only the order among themselves is known.
 * So they are kept apart from the operations of a process.
 */
#ifndef ANALYSIS_KNOWN_REPLAYS_H
#define ANALYSIS_KNOWN_REPLAYS_H

#include "analysis/known/instances.h"

struct analysis;

/* Takes a slot with CAPTURED and without RW_KNOWN_TASK. Again whenever it says more. Without memory for it, it is not
 * seen. */
void replays_note(struct analysis *analysis, struct process *process, const struct membership *membership,
		  const struct rw_operation *slot);
/* Number i, from 0 for the oldest that is remembered to replays_count(); NULL: its instance has been forgotten. */
uint32_t replays_count(const struct process *process);
const struct trace *replays_at(const struct process *process, uint32_t i);
/* Were results of all calls seen that the member has captured? */
bool replays_tell_all(const struct member *member);
/* Can this rank have had a bad value in a graph, before this of its operations, that nobody saw? */
bool replays_may_hide(const struct process *process, uint32_t rank, const struct instance *instance, uint64_t ticket);

#endif
