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

uint64_t lost_time_replay(const struct job *job, const struct instances *instances, uint64_t first_step,
			  const bool *healed)
{
	uint64_t *gains = calloc(job->rank_count, sizeof(*gains));
	if (!gains)
		return 0;
	const struct instance *instance = find_first(instances, first_step);
	uint64_t most = 0;
	for (; instance; instance = instance->next)
		if (instance->judged && instance->start_ns)
			replay_one(instance, healed, gains);
	for (uint32_t i = 0; i < job->rank_count; i++)
		most = gains[i] > most ? gains[i] : most;
	free(gains);
	return most;
}
