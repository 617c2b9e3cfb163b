/* SPDX-License-Identifier: MIT */
#include "analysis/measure/first_bad.h"

#include "analysis/model.h"
#include "analysis/known/replays.h"
#include "analysis/known/trace.h"
#include "analysis/known/usual.h"

bool first_bad_can_be(const struct analysis *analysis, const struct instance *instance, uint32_t member,
		     enum value_side side)
{
	if (value_state(instance, member, side) != VALUE_BAD)
		return false;
	const struct rw_scan *scan = value_scan(instance, member, side);
	const struct usual *usual = usual_find(instance, member, side);
	if (instance->values[member].excused & 1u << side)
		return false;
	if (usual ? usual_covers(usual, scan) : usual_recurs_early(instance, member, side))
		return false;
	/* Inf that was not clean before, and is copied: a mask, as far as one can see, and not what made a NaN. */
	bool changed = usual && usual->clean;
	return !analysis->origin.nan || scan->nan || changed || value_is_reduction(instance);
}

static bool is_bad_at(const struct analysis *analysis, const struct trace *trace, uint64_t ticket,
		      struct first_bad *first)
{
	struct instance *instance = trace_instance(trace);

	for (int side = VALUE_IN; instance && side <= VALUE_OUT; side++) {
		if (first_bad_can_be(analysis, instance, trace->member, (enum value_side)side)) {
			first->instance = instance;
			first->ticket = ticket;
			first->member = trace->member;
			first->side = (enum value_side)side;
			return true;
		}
		first->clean_before |= value_scan(instance, trace->member, (enum value_side)side) != NULL;
	}
	return false;
}

/*
 * The first bad replay. A slot comes when its result comes: what was called after that came after it. Of an operation
 * that was called before nobody knows which was first: then the replay goes first, and the search says what that hides.
 */
static void find_first_replay(const struct analysis *analysis, const struct rank *rank, uint32_t index,
			      struct first_bad *first)
{
	struct first_bad replay = { 0 };

	for (uint32_t i = 0; i < replays_count(rank->process) && !replay.instance; i++) {
		const struct trace *trace = replays_at(rank->process, i);
		if (trace && trace->rank == index && trace->ticket >= rank->values_from)
			is_bad_at(analysis, trace, trace->ticket, &replay);
	}
	if (!replay.instance)
		return;
	replay.unordered = first->instance && first->ticket < replay.ticket;
	replay.clean_before |= first->clean_before;
	*first = replay;
}

static void find_first(const struct analysis *analysis, const struct rank *rank, uint32_t index,
		       struct first_bad *first)
{
	uint64_t newest = trace_newest_operation(rank->process), oldest = trace_oldest(newest);

	uint64_t very_first = rank->process->marks_before + 1;

	first->clean_before =
	    rank->process->trace[very_first % JOB_TRACE].ticket == very_first || rank->values_from > oldest;
	for (uint64_t ticket = oldest; ticket <= newest && !first->instance; ticket++) {
		const struct trace *trace = &rank->process->trace[ticket % JOB_TRACE];
		if (trace->ticket != ticket || trace->rank != index || ticket < rank->values_from)
			continue;
		if (trace_is_forgotten(trace))
			first->clean_before = false;
		is_bad_at(analysis, trace, ticket, first);
	}
	find_first_replay(analysis, rank, index, first);
}

void first_bad_find(const struct analysis *analysis, struct first_bad *firsts)
{
	for (uint32_t i = 0; i < analysis->job.rank_count; i++)
		find_first(analysis, &analysis->job.ranks[i], i, &firsts[i]);
}
