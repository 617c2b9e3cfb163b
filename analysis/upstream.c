/* SPDX-License-Identifier: MIT */
#include "analysis/upstream.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/usual.h"

/* Goes along the operations of ranks, each rank once per stretch, each instance once. */
struct walk {
	struct analysis *analysis;
	uint32_t mark;
	uint64_t *limit; /* by rank: operations before (after) this ticket are to be visited */
	uint64_t *done;  /* … and have been */
	uint32_t *queue; /* ranks with something to visit */
	bool *queued;
	uint32_t first, count, room;
	uint64_t *witness; /* by rank: ticket at which it brought clean values where another one's were bad; 0 none */
	struct upstream *found;
};

static struct instance *instance_of(const struct trace *trace)
{
	return trace->instance && trace->instance->serial == trace->serial ? trace->instance : NULL;
}

static bool is_forgotten(const struct trace *trace)
{
	return trace->instance && trace->instance->serial != trace->serial;
}

uint64_t upstream_newest(const struct process *process)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < JOB_TRACE; i++)
		if (process->trace[i].ticket > newest)
			newest = process->trace[i].ticket;
	return newest;
}

static uint64_t oldest_of(uint64_t newest)
{
	return newest > JOB_TRACE ? newest - JOB_TRACE + 1 : 1;
}

bool upstream_is_bad(const struct analysis *analysis, const struct instance *instance, uint32_t member,
		     enum value_side side)
{
	if (value_state(instance, member, side) != VALUE_BAD)
		return false;
	const struct rw_scan *scan = value_scan(instance, member, side);
	const struct usual *usual = usual_find(instance, member, side);
	if (usual && usual_covers(usual, scan))
		return false;
	/* Inf that was not clean before, and is copied: a mask, as far as one can see, and not what made a NaN. */
	bool changed = usual && usual->clean;
	return !analysis->origin.nan || scan->nan || changed || value_is_reduction(instance);
}

static void find_first(const struct analysis *analysis, const struct rank *rank, uint32_t index, struct first_bad *first)
{
	uint64_t newest = upstream_newest(rank->process), oldest = oldest_of(newest);

	first->clean_before = rank->process->trace[1].ticket == 1 || rank->values_from > oldest;
	for (uint64_t ticket = oldest; ticket <= newest && !first->instance; ticket++) {
		const struct trace *trace = &rank->process->trace[ticket % JOB_TRACE];
		struct instance *instance = trace->ticket == ticket ? instance_of(trace) : NULL;
		if (trace->ticket != ticket || trace->rank != index || ticket < rank->values_from)
			continue;
		if (is_forgotten(trace))
			first->clean_before = false;
		for (int side = VALUE_IN; instance && side <= VALUE_OUT && !first->instance; side++) {
			if (upstream_is_bad(analysis, instance, trace->member, (enum value_side)side)) {
				first->instance = instance;
				first->ticket = ticket;
				first->member = trace->member;
				first->side = (enum value_side)side;
			} else if (value_scan(instance, trace->member, (enum value_side)side)) {
				first->clean_before = true;
			}
		}
	}
}

void upstream_find_first(const struct analysis *analysis, struct first_bad *firsts)
{
	for (uint32_t i = 0; i < analysis->job.rank_count; i++)
		find_first(analysis, &analysis->job.ranks[i], i, &firsts[i]);
}

static int walk_new(struct walk *walk, struct analysis *analysis, uint64_t limit)
{
	uint32_t room = analysis->job.rank_count;

	*walk = (struct walk){
		.analysis = analysis,
		.mark = ++analysis->origin.mark,
		.room = room,
		.limit = calloc(room, sizeof(*walk->limit)),
		.done = calloc(room, sizeof(*walk->done)),
		.queue = calloc(room, sizeof(*walk->queue)),
		.queued = calloc(room, sizeof(*walk->queued)),
		.witness = calloc(room, sizeof(*walk->witness)),
	};
	if (!walk->limit || !walk->done || !walk->queue || !walk->queued || !walk->witness)
		return -ENOMEM;
	for (uint32_t i = 0; i < room; i++)
		walk->limit[i] = walk->done[i] = limit;
	return 0;
}

static void walk_free(struct walk *walk)
{
	free(walk->limit);
	free(walk->done);
	free(walk->queue);
	free(walk->queued);
	free(walk->witness);
}

static void enqueue(struct walk *walk, uint32_t rank, uint64_t limit)
{
	walk->limit[rank] = limit;
	if (walk->queued[rank])
		return;
	walk->queued[rank] = true;
	walk->queue[(walk->first + walk->count++) % walk->room] = rank;
}

static uint32_t dequeue(struct walk *walk)
{
	uint32_t rank = walk->queue[walk->first];

	walk->first = (walk->first + 1) % walk->room;
	walk->count--;
	walk->queued[rank] = false;
	return rank;
}

/* Everything that a member enqueues after the instance may come from it. */
static void flood(struct walk *walk, struct instance *instance)
{
	if (instance->mark == walk->mark)
		return;
	instance->mark = walk->mark;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = instance_joined(instance, i);
		uint32_t rank = instance->communicator->members[i].rank;
		if (operation && value_matters(instance, i, VALUE_OUT) && operation->ticket < walk->limit[rank])
			enqueue(walk, rank, operation->ticket);
	}
}

static void flood_rank(struct walk *walk, uint32_t rank)
{
	const struct process *process = walk->analysis->job.ranks[rank].process;
	uint64_t newest = upstream_newest(process), oldest = oldest_of(newest);
	uint64_t from = walk->limit[rank] + 1 > oldest ? walk->limit[rank] + 1 : oldest;

	for (uint64_t ticket = from; ticket <= newest && ticket <= walk->done[rank]; ticket++) {
		const struct trace *trace = &process->trace[ticket % JOB_TRACE];
		struct instance *instance = trace->ticket == ticket && trace->rank == rank ? instance_of(trace) : NULL;
		if (instance && value_matters(instance, trace->member, VALUE_IN))
			flood(walk, instance);
	}
	walk->done[rank] = walk->limit[rank];
}

int upstream_drop_later(struct analysis *analysis, struct first_bad *beginnings)
{
	struct walk walk;
	uint32_t ranks = analysis->job.rank_count;
	int err = walk_new(&walk, analysis, UINT64_MAX);

	for (uint32_t i = 0; !err && i < ranks; i++) {
		if (!beginnings[i].instance)
			continue;
		flood(&walk, beginnings[i].instance);
		if (beginnings[i].ticket < walk.limit[i])
			enqueue(&walk, i, beginnings[i].ticket);
	}
	while (!err && walk.count)
		flood_rank(&walk, dequeue(&walk));
	for (uint32_t i = 0; !err && i < ranks; i++)
		if (beginnings[i].instance && walk.limit[i] < beginnings[i].ticket)
			beginnings[i].instance = NULL;
	walk_free(&walk);
	return err;
}

/* What all received alike cannot be why the values of one are bad while those of another are clean afterwards. */
static bool is_witnessed(const struct walk *walk, const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = instance_joined(instance, i);
		uint64_t witness = walk->witness[instance->communicator->members[i].rank];
		if (operation && witness > operation->ticket)
			return value_is_symmetric(instance);
	}
	return false;
}

static void suspect(struct walk *walk, const struct instance *instance, uint32_t member)
{
	const struct operation *operation = instance_joined(instance, member);
	uint32_t rank = instance->communicator->members[member].rank;

	if (!operation) {
		walk->found->blind = true;
		return;
	}
	walk->found->count += !walk->found->suspects[rank];
	walk->found->suspects[rank] = true;
	if (operation->ticket > walk->limit[rank])
		enqueue(walk, rank, operation->ticket);
}

/* Inputs that may have been bad. Without any, copies are clean, and reductions are what can still have overflowed. */
static void suspect_inputs(struct walk *walk, struct instance *instance)
{
	uint32_t before = walk->found->count, open = 0;

	if (instance->mark == walk->mark)
		return;
	instance->mark = walk->mark;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		if (!value_matters(instance, i, VALUE_IN) || value_state(instance, i, VALUE_IN) == VALUE_CLEAN)
			continue;
		suspect(walk, instance, i);
		open++;
	}
	if (job_unseen(instance->communicator) || (!open && value_is_reduction(instance)))
		walk->found->blind = true;
	walk->found->not_scanned += open || walk->found->count > before;
}

static void visit_result(struct walk *walk, const struct trace *trace)
{
	struct instance *instance = instance_of(trace);

	if (is_forgotten(trace))
		return; /* from before what is remembered */
	if (!instance) {
		walk->found->blind = true; /* untracked: nobody saw its buffers */
		walk->found->not_scanned++;
		return;
	}
	enum value_state state = value_state(instance, trace->member, VALUE_OUT);
	if (!value_matters(instance, trace->member, VALUE_OUT) || state == VALUE_CLEAN)
		return;
	if (state == VALUE_BAD && !upstream_is_bad(walk->analysis, instance, trace->member, VALUE_OUT))
		return;
	if (instance->communicator->members[trace->member].captured)
		walk->found->blind = true;
	if (is_witnessed(walk, instance)) {
		walk->found->discounted = true;
		return;
	}
	suspect_inputs(walk, instance);
}

static void search_rank(struct walk *walk, uint32_t rank)
{
	const struct process *process = walk->analysis->job.ranks[rank].process;
	uint64_t oldest = oldest_of(upstream_newest(process));
	uint64_t from = walk->done[rank] > oldest ? walk->done[rank] : oldest;
	uint64_t until = walk->limit[rank];

	if (walk->analysis->job.ranks[rank].values_from > from)
		from = walk->analysis->job.ranks[rank].values_from;
	walk->done[rank] = until;
	for (uint64_t ticket = from; ticket < until; ticket++) {
		const struct trace *trace = &process->trace[ticket % JOB_TRACE];
		if (trace->ticket == ticket && trace->rank == rank)
			visit_result(walk, trace);
	}
}

/* Captured operations have no slots at all: they can carry anything between any two others. */
static bool has_captured(const struct job *job, uint32_t rank)
{
	const struct process *process = job->ranks[rank].process;

	for (uint32_t i = 0; i < process->seat_count; i++) {
		const struct member *member = job_seated(&process->seats[i]);
		if (member && member->captured)
			return true;
	}
	return false;
}

static void note_witnesses(struct walk *walk, const struct first_bad *beginning)
{
	const struct instance *instance = beginning->instance;

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct operation *operation = instance_joined(instance, i);
		if (operation && value_matters(instance, i, VALUE_IN) &&
		    value_state(instance, i, VALUE_IN) == VALUE_CLEAN)
			walk->witness[instance->communicator->members[i].rank] = operation->ticket;
	}
}

static void begin(struct walk *walk, uint32_t rank, const struct first_bad *beginning)
{
	if (beginning->side == VALUE_OUT) {
		suspect_inputs(walk, beginning->instance);
		return;
	}
	note_witnesses(walk, beginning);
	if (beginning->ticket > walk->limit[rank])
		enqueue(walk, rank, beginning->ticket);
	if (has_captured(&walk->analysis->job, rank) || !beginning->clean_before)
		walk->found->blind = true;
}

int upstream_search(struct analysis *analysis, const struct first_bad *beginnings, struct upstream *upstream)
{
	struct walk walk;
	uint32_t ranks = analysis->job.rank_count;
	int err = walk_new(&walk, analysis, 0);

	*upstream = (struct upstream){ .suspects = calloc(ranks, sizeof(*upstream->suspects)) };
	walk.found = upstream;
	if (!upstream->suspects)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < ranks; i++)
		if (beginnings[i].instance)
			begin(&walk, i, &beginnings[i]);
	while (!err && walk.count)
		search_rank(&walk, dequeue(&walk));
	walk_free(&walk);
	return err;
}

void upstream_free(struct upstream *upstream)
{
	free(upstream->suspects);
	*upstream = (struct upstream){ 0 };
}
