/* SPDX-License-Identifier: MIT */
#include "analysis/measure/lateness.h"

#include <stdlib.h>

#include "analysis/numbers/sorting.h"
#include "analysis/known/suspension.h"
#include "analysis/known/trace.h"

enum {
	LOOK_BACK = 8, /* operations before this one that may have kept the GPU busy */
};

struct measure {
	uint32_t member;
	uint64_t arrival_ns, work_ns, gap_ns, launched_ns;
	bool work_known, dry_known;
	bool after_unknown_end; /* see OPERATION_AFTER_UNKNOWN_END */
};

/* Of `count` values the median of the others as one of the upper half sees it: leaving it out moves nothing below. */
static uint64_t median_of_others(uint64_t *values, uint32_t count)
{
	if (count < 2)
		return 0;
	sort_u64(values, count);
	return values[(count - 2) / 2];
}

/* A replay has its ticket when it has ended: it may have run before an operation that was called earlier. When the last
 * of those ended; 0 none. */
static uint64_t last_replay_before(const struct member *member, const struct operation *operation)
{
	const struct process *process = member->process;
	uint64_t ended_ns = 0, newest = process->newest_timed;

	for (uint64_t ticket = newest; process->timed && ticket > operation->ticket && newest - ticket < JOB_TRACE;
	     ticket--) {
		const struct trace *trace = &process->timed[ticket % JOB_TRACE];
		if (trace->ticket == ticket && trace->rank == member->rank && trace->done_ns <= operation->arrival_ns &&
		    trace->done_ns > ended_ns)
			ended_ns = trace->done_ns;
	}
	return ended_ns;
}

static uint64_t ran_between(const struct job *job, uint64_t from_ns, uint64_t until_ns)
{
	return until_ns > from_ns ? until_ns - from_ns - suspension_between(job, from_ns, until_ns) : 0;
}

/* What the rank did before: when its GPU ran dry, and when it last had finished something before it arrived here. */
static void look_back(const struct member *member, const struct communicator *communicator,
		      const struct operation *operation, struct measure *measure)
{
	const struct process *process = member->process;
	uint64_t finished_ns = 0, dry_ns = 0, launched_ns = 0;
	uint32_t seen = 0;
	for (uint64_t back = 1; seen < LOOK_BACK && back < JOB_TRACE && back < operation->ticket; back++) {
		const struct trace *trace = trace_find(process, operation->ticket - back);
		seen += trace ? !trace->mark : !process->replays;
		if (!trace || trace->rank != member->rank)
			continue;
		/* In its own group all others wait as long as it does. */
		measure->after_unknown_end |= !finished_ns && trace->times_unknown &&
					      trace->communicator != communicator->index;
		if (trace->launch_ns > launched_ns)
			launched_ns = trace->launch_ns;
		if (!trace->done_ns)
			continue;
		if (trace->done_ns > dry_ns)
			dry_ns = trace->done_ns;
		if (trace->done_ns <= operation->arrival_ns && trace->done_ns > finished_ns)
			finished_ns = trace->done_ns;
	}
	uint64_t replayed_ns = last_replay_before(member, operation);
	finished_ns = replayed_ns > finished_ns ? replayed_ns : finished_ns;
	dry_ns = replayed_ns > dry_ns ? replayed_ns : dry_ns;
	measure->work_known = finished_ns != 0;
	measure->dry_known = dry_ns != 0;
	measure->work_ns = finished_ns ? ran_between(process->of_job, finished_ns, operation->arrival_ns) : 0;
	measure->gap_ns = dry_ns ? ran_between(process->of_job, dry_ns, operation->launch_ns) : 0;
	measure->launched_ns = launched_ns < operation->arrival_ns ? launched_ns : 0;
}

/* Without GPU times a late launch delays others only while they stand still: until when did this rank launch nothing
 * on any communicator? */
static uint64_t stood_still_until(const struct process *process, const struct operation *operation)
{
	const struct trace *next;
	uint64_t ticket = operation->ticket;
	do { /* replays and step marks have tickets, too */
		next = &process->trace[++ticket % JOB_TRACE];
	} while ((next->ticket == ticket ? next->mark : process->replays || process->timed) &&
		 ticket - operation->ticket < JOB_TRACE / 2);
	return next->ticket == ticket && next->launch_ns ? next->launch_ns : UINT64_MAX;
}

static uint32_t measure_arrivals(const struct instance *instance, struct measure *measures, bool *host_only)
{
	const struct communicator *communicator = instance->communicator;
	uint32_t count = 0;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct operation *operation = instance_joined(instance, i);
		if (!operation || !(operation->state & OPERATION_STARTED) || operation->state & OPERATION_EXCLUDED)
			continue;
		*host_only |= operation->state & OPERATION_HOST;
		measures[count] = (struct measure){ .member = i, .arrival_ns = operation->arrival_ns };
		look_back(&communicator->members[i], communicator, operation, &measures[count++]);
	}
	return count;
}

static uint64_t cut_by_standing_still(const struct instance *instance, const struct measure *measures, uint32_t count,
				      uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct process *process = instance->communicator->members[measures[i].member].process;
		values[i] = stood_still_until(process, &instance->operations[measures[i].member]);
	}
	return median_of_others(values, count);
}

/* Some ranks may know when their GPU came to it, and others only when they launched it. */
static bool is_apart(const struct instance *instance)
{
	const uint16_t lacks = OPERATION_HOST | OPERATION_APART;

	for (uint32_t i = 0; i < instance->room; i++)
		if ((instance->operations[i].state & lacks) == lacks)
			return true;
	return false;
}

static void spread_of(const struct instance *instance, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = UINT64_MAX;
	*last_ns = 0;
	for (uint32_t i = 0; i < instance->room; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!(operation->state & OPERATION_STARTED) || operation->state & OPERATION_EXCLUDED)
			continue;
		if (operation->arrival_ns < *first_ns)
			*first_ns = operation->arrival_ns;
		if (operation->arrival_ns > *last_ns)
			*last_ns = operation->arrival_ns;
	}
}

/* Lateness beyond what the rank lost by waiting for others. */
static uint64_t own_part(const struct measure *measure, uint64_t by_ns, uint64_t work_median_ns)
{
	uint64_t beyond = measure->work_ns > work_median_ns ? measure->work_ns - work_median_ns : 0;
	return measure->work_known && beyond < by_ns ? beyond : by_ns;
}

/* Of it, what has not been counted in another, overlapping instance. */
static uint64_t new_part(struct rank *rank, const struct measure *measure, uint64_t own_ns)
{
	own_ns = stalls_left(&rank->stalls, measure->arrival_ns, own_ns);
	if (own_ns >= LATENESS_NOISE_NS)
		stalls_add(&rank->stalls, measure->arrival_ns, own_ns);
	return own_ns;
}

struct judgement {
	struct measure *measures; /* of all members … */
	uint64_t *values;         /* … and room for as many */
	uint32_t count;
	uint64_t arrival_median_ns, work_median_ns, gap_median_ns, still_until_ns;
};

static void take_medians(const struct instance *instance, struct judgement *judgement, bool host_only)
{
	struct measure *measures = judgement->measures;
	uint64_t *values = judgement->values;
	uint32_t count = judgement->count;

	judgement->still_until_ns = host_only ? cut_by_standing_still(instance, measures, count, values) : UINT64_MAX;
	for (uint32_t i = 0; i < count; i++)
		values[i] = measures[i].arrival_ns;
	judgement->arrival_median_ns = median_of_others(values, count);
	for (uint32_t i = 0; i < count; i++)
		values[i] = measures[i].work_ns;
	judgement->work_median_ns = median_of_others(values, count);
	for (uint32_t i = 0; i < count; i++)
		values[i] = measures[i].gap_ns;
	judgement->gap_median_ns = median_of_others(values, count);
}

static uint32_t microseconds(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* A GPU that came to it long after its launch had something else to do. One that came as soon as it was there may have
 * been idle for long, or have ended something just then that was not followed. */
static bool host_part_is_unknown(const struct operation *operation, const struct measure *measure, uint64_t by_ns)
{
	bool at_once = operation->launch_ns && operation->launch_ns < operation->arrival_ns
			   ? (operation->arrival_ns - operation->launch_ns) * 2 < by_ns
			   : true;

	return !measure->dry_known && at_once;
}

static void judge_one(struct job *job, struct instance *instance, const struct judgement *judgement,
		      const struct measure *measure)
{
	struct operation *operation = &instance->operations[measure->member];
	operation->work_us = microseconds(measure->work_ns);
	uint64_t until_ns =
	    measure->arrival_ns < judgement->still_until_ns ? measure->arrival_ns : judgement->still_until_ns;
	uint64_t by_ns = ran_between(job, judgement->arrival_median_ns, until_ns);
	if (by_ns < LATENESS_NOISE_NS)
		return;
	struct rank *rank = &job->ranks[instance->communicator->members[measure->member].rank];
	uint64_t own_ns = own_part(measure, by_ns, judgement->work_median_ns);
	operation->by_us = microseconds(by_ns);
	operation->own_us = microseconds(own_ns);
	uint64_t host_ns = measure->gap_ns > judgement->gap_median_ns ? measure->gap_ns - judgement->gap_median_ns : 0;
	if (operation->state & OPERATION_HOST)
		host_ns = by_ns;
	else if (host_part_is_unknown(operation, measure, by_ns))
		operation->state |= OPERATION_HOST_PART_UNKNOWN;
	if (measure->after_unknown_end)
		operation->state |= OPERATION_AFTER_UNKNOWN_END;
	operation->host_us = microseconds(host_ns < by_ns ? host_ns : by_ns);
	own_ns = new_part(rank, measure, own_ns);
	if (own_ns < LATENESS_NOISE_NS)
		return;
	operation->late_us = microseconds(own_ns);
	if (measure->launched_ns)
		operation->idle_us = microseconds(measure->arrival_ns - measure->launched_ns);
}

static void judge_all(struct job *job, struct instance *instance, struct judgement *judgement)
{
	bool host_only = false;

	judgement->count = measure_arrivals(instance, judgement->measures, &host_only);
	if (judgement->count < 2)
		return;
	take_medians(instance, judgement, host_only);
	instance->median_ns = judgement->arrival_median_ns;
	for (uint32_t i = 0; i < judgement->count; i++)
		judge_one(job, instance, judgement, &judgement->measures[i]);
}

void lateness_judge(struct job *job, struct instance *instance)
{
	uint64_t first_ns;
	spread_of(instance, &first_ns, &instance->start_ns);
	instance->judged = true;
	instance->unfollowed = is_apart(instance);
	instance->median_ns = first_ns;
	/* In a pipeline a rank is compared with its own history, so its work counts also when nobody is late. */
	if (instance->start_ns < first_ns + LATENESS_NOISE_NS && !job->pipelined)
		return;
	if (instance->unfollowed)
		return;

	struct judgement judgement = {
		.measures = calloc(instance->communicator->member_count, sizeof(*judgement.measures)),
		.values = calloc(instance->communicator->member_count, sizeof(*judgement.values)),
	};
	if (judgement.measures && judgement.values)
		judge_all(job, instance, &judgement);
	free(judgement.measures);
	free(judgement.values);
}
