/* SPDX-License-Identifier: MIT */
#include "analysis/measure/upstream.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/known/replays.h"
#include "analysis/known/trace.h"

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
	uint64_t *clean;   /* by rank: ticket at which it brought clean values last time, where it now begins; 0 none */
	struct upstream *found;
};

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
		.clean = calloc(room, sizeof(*walk->clean)),
	};
	if (!walk->limit || !walk->done || !walk->queue || !walk->queued || !walk->witness || !walk->clean)
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
	free(walk->clean);
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
	uint64_t newest = trace_newest_operation(process), oldest = trace_oldest(newest);
	uint64_t from = walk->limit[rank] + 1 > oldest ? walk->limit[rank] + 1 : oldest;

	for (uint64_t ticket = from; ticket <= newest && ticket <= walk->done[rank]; ticket++) {
		const struct trace *trace = &process->trace[ticket % JOB_TRACE];
		struct instance *instance =
		    trace->ticket == ticket && trace->rank == rank ? trace_instance(trace) : NULL;
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
	/* A replay's ticket says when its result came: operations that were called before may come after it. */
	for (uint32_t i = 0; !err && i < ranks; i++)
		if (beginnings[i].instance && !instance_is_replay(beginnings[i].instance) &&
		    walk.limit[i] < beginnings[i].ticket)
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
	struct instance *instance = trace_instance(trace);

	if (trace_is_forgotten(trace))
		return; /* from before what is remembered */
	if (!instance) {
		walk->found->blind = true; /* untracked: nobody saw its buffers */
		walk->found->not_scanned++;
		return;
	}
	enum value_state state = value_state(instance, trace->member, VALUE_OUT);
	if (!value_matters(instance, trace->member, VALUE_OUT) || state == VALUE_CLEAN)
		return;
	if (state == VALUE_BAD && !first_bad_can_be(walk->analysis, instance, trace->member, VALUE_OUT))
		return;
	if (!replays_tell_all(&instance->communicator->members[trace->member]))
		walk->found->blind = true;
	bool witnessed = is_witnessed(walk, instance);
	uint64_t clean = walk->clean[trace->rank]; /* a step ago */
	if (!witnessed && trace->ticket >= clean)
		suspect_inputs(walk, instance);
	else if (!witnessed || trace->ticket > clean)
		walk->found->discounted = true;
}

static void search_rank(struct walk *walk, uint32_t rank)
{
	const struct process *process = walk->analysis->job.ranks[rank].process;
	uint64_t oldest = trace_oldest(trace_newest_operation(process));
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

/* What is captured and not scanned has no slots at all: it can carry anything between any two others. */
static bool has_unseen(const struct job *job, uint32_t rank)
{
	const struct process *process = job->ranks[rank].process;

	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		if (member && !replays_tell_all(member))
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

static void note_clean(struct walk *walk, uint32_t rank, const struct first_bad *beginning)
{
	const struct process *process = walk->analysis->job.ranks[rank].process;
	const struct trace *now = &process->trace[beginning->ticket % JOB_TRACE];
	uint64_t oldest = trace_oldest(trace_newest_operation(process));

	if (instance_is_replay(beginning->instance) || now->place.place == STEPS_NO_PLACE ||
	    process->steps.trust < STEPS_CERTAIN)
		return;
	for (uint64_t ticket = beginning->ticket - 1; ticket >= oldest && !walk->clean[rank]; ticket--) {
		const struct trace *before = &process->trace[ticket % JOB_TRACE];
		bool same = before->ticket == ticket && before->rank == rank &&
			    before->place.place == now->place.place && before->steps_version == now->steps_version;
		const struct instance *instance = same ? trace_instance(before) : NULL;
		if (instance && value_state(instance, before->member, VALUE_IN) == VALUE_CLEAN)
			walk->clean[rank] = ticket;
	}
}

static void begin(struct walk *walk, uint32_t rank, const struct first_bad *beginning)
{
	if (beginning->side == VALUE_OUT) {
		suspect_inputs(walk, beginning->instance);
		return;
	}
	note_witnesses(walk, beginning);
	note_clean(walk, rank, beginning);
	if (beginning->ticket > walk->limit[rank])
		enqueue(walk, rank, beginning->ticket);
	const struct process *process = walk->analysis->job.ranks[rank].process;
	if (has_unseen(&walk->analysis->job, rank) || !beginning->clean_before || beginning->unordered ||
	    replays_may_hide(process, rank, beginning->instance, beginning->ticket))
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
