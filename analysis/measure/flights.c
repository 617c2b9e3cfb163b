/* SPDX-License-Identifier: MIT */
#include "analysis/measure/flights.h"

#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/report/naming.h"

uint16_t flight_state(const struct instance *instance, uint32_t member)
{
	const struct operation *operation = instance_joined(instance, member);
	if (!operation)
		return 0;
	uint16_t state = operation->state;
	const struct member *seen = &instance->communicator->members[member];
	if (state & OPERATION_EXCLUDED || seen->ended)
		return state | OPERATION_DONE;
	if (operation->progress && operation->progress <= seen->gpu_started)
		state |= OPERATION_STARTED;
	if (operation->progress && operation->progress <= seen->gpu_done)
		state |= OPERATION_STARTED | OPERATION_DONE;
	return state;
}

static const char *phase_name(uint16_t state)
{
	if (state & OPERATION_DONE)
		return "done";
	if (state & OPERATION_STARTED && !(state & OPERATION_HOST))
		return "running";
	if (state & OPERATION_LAUNCHED)
		return "launched";
	if (state & OPERATION_UNKNOWN)
		return "unknown";
	return state & OPERATION_INSIDE ? "connect" : "enqueued";
}

bool flight_is_open(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		uint16_t state = flight_state(instance, i);
		if (state && !(state & OPERATION_DONE))
			return true;
	}
	return false;
}

struct lists {
	int32_t *joined, *missing;
	const char **phases;
};

static bool allocate(struct lists *lists, uint32_t count)
{
	*lists = (struct lists){
		.joined = calloc(count + 1, sizeof(int32_t)),
		.missing = calloc(count + 1, sizeof(int32_t)),
		.phases = calloc(count + 1, sizeof(char *)),
	};
	return lists->joined && lists->missing && lists->phases;
}

/* Insertion keeps world ranks ascending; the phases go along. */
static void insert(int32_t *ranks, const char **phases, size_t count, int32_t rank, const char *phase)
{
	size_t at = count;
	for (; at > 0 && ranks[at - 1] > rank; at--) {
		ranks[at] = ranks[at - 1];
		if (phases)
			phases[at] = phases[at - 1];
	}
	ranks[at] = rank;
	if (phases)
		phases[at] = phase;
}

static void visit_one(const struct job *job, const struct instance *instance, analysis_flight_visit *visit,
		      void *argument)
{
	const struct communicator *communicator = instance->communicator;
	struct lists lists;
	char name[96];
	struct analysis_flight flight = {
		.comm = communicator->id,
		.comm_name = naming_communicator(name, sizeof(name), job, communicator),
		.comm_size = communicator->size,
		.function = instance->function,
		.sequence = instance->sequence,
		.dtype = instance->dtype,
		.count = instance->count,
		.unseen = job_unseen(communicator),
	};
	if (allocate(&lists, communicator->member_count)) {
		for (uint32_t i = 0; i < communicator->member_count; i++) {
			int32_t world = job_member_rank(job, &communicator->members[i])->world;
			uint16_t state = flight_state(instance, i);
			if (state)
				insert(lists.joined, lists.phases, flight.joined_count++, world,
				       phase_name(state));
			else if (instance_lacks(instance, i))
				insert(lists.missing, NULL, flight.missing_count++, world, NULL);
		}
		flight.joined = lists.joined;
		flight.joined_phase = lists.phases;
		flight.missing = lists.missing;
		visit(argument, &flight);
	}
	free(lists.joined);
	free(lists.missing);
	free(lists.phases);
}

static const struct instance *oldest_open(const struct communicator *communicator)
{
	const struct instance *oldest = NULL;
	for (const struct instance *at = communicator->unfinished_first; at; at = at->next)
		if ((!oldest || at->created_ns < oldest->created_ns) && flight_is_open(at))
			oldest = at;
	return oldest;
}

static int by_creation(const void *left, const void *right)
{
	const struct instance *a = *(const struct instance *const *)left, *b = *(const struct instance *const *)right;
	return (a->created_ns > b->created_ns) - (a->created_ns < b->created_ns);
}

void flights_visit(const struct analysis *analysis, analysis_flight_visit *visit, void *argument)
{
	const struct job *job = &analysis->job;
	const struct instance **open = calloc(job->communicator_count + 1, sizeof(*open));
	size_t count = 0;
	if (!open)
		return;
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct instance *oldest = oldest_open(job->communicators[i]);
		if (oldest)
			open[count++] = oldest;
	}
	qsort(open, count, sizeof(*open), by_creation);
	for (size_t i = 0; i < count; i++)
		visit_one(job, open[i], visit, argument);
	free(open);
}
