/* SPDX-License-Identifier: MIT */
#include "analysis/lost_time.h"

#include <stdlib.h>

/* First instance of the stretch to replay: walks back over operations that come once and have no step. */
static const struct instance *find_first(const struct instances *instances, uint64_t first_step)
{
	const struct instance *first = NULL;
	for (const struct instance *at = instances->finished_last; at; at = at->previous) {
		if (at->place.place != STEPS_NO_PLACE && at->place.step < first_step)
			break;
		first = at;
	}
	return first;
}

/* A rank that is `gain` earlier reaches the instance so much earlier, and without its lateness earlier still. The
 * instance starts when the last has come; from there on all of them share what was won. */
static void replay_one(const struct instance *instance, const bool *healed, uint64_t *gains)
{
	const struct member *members = instance->communicator->members;
	uint64_t last_ns = 0;
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++) {
		const struct operation *operation = &instance->operations[i];
		if (!(operation->state & OPERATION_STARTED))
			continue;
		uint64_t earlier = gains[members[i].rank];
		if (healed[members[i].rank])
			earlier += (uint64_t)operation->late_us * 1000;
		uint64_t arrival = operation->arrival_ns > earlier ? operation->arrival_ns - earlier : 0;
		last_ns = arrival > last_ns ? arrival : last_ns;
	}
	uint64_t gain = instance->start_ns > last_ns ? instance->start_ns - last_ns : 0;
	for (uint32_t i = 0; i < instance->room && i < instance->communicator->member_count; i++)
		if (instance->operations[i].state & OPERATION_STARTED)
			gains[members[i].rank] = gain;
}

static int by_start(const void *left, const void *right)
{
	const struct instance *a = *(const struct instance *const *)left, *b = *(const struct instance *const *)right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The instances to replay, in the order in which they happened: they finish in the order in which boxes are read, and
 * what one rank won reaches another only through what happened in between. Caller frees; NULL without memory. */
static const struct instance **collect(const struct instances *instances, uint64_t first_step, size_t *count)
{
	const struct instance **found = malloc((instances->count + 1) * sizeof(const struct instance *));
	*count = 0;
	if (!found)
		return NULL;
	for (const struct instance *at = find_first(instances, first_step); at; at = at->next)
		if (at->judged && at->start_ns)
			found[(*count)++] = at;
	qsort(found, *count, sizeof(const struct instance *), by_start);
	return found;
}

uint64_t lost_time_replay(const struct job *job, const struct instances *instances, uint64_t first_step,
			  const bool *healed)
{
	uint64_t *gains = calloc(job->rank_count, sizeof(*gains)), most = 0;
	size_t count;
	const struct instance **replayed = collect(instances, first_step, &count);
	for (size_t i = 0; gains && replayed && i < count; i++)
		replay_one(replayed[i], healed, gains);
	for (uint32_t i = 0; gains && i < job->rank_count; i++)
		most = gains[i] > most ? gains[i] : most;
	free(replayed);
	free(gains);
	return most;
}
