/* SPDX-License-Identifier: MIT */
#include "analysis/measure/last_bad.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"

static struct last_bad_value *of_rank(struct analysis *analysis, uint32_t rank)
{
	struct last_bad *last_bad = &analysis->origin.last_bad;

	if (rank >= last_bad->room) {
		uint32_t room = analysis->job.rank_count;
		struct last_bad_value *of = realloc(last_bad->of, room * sizeof(*of));
		if (!of)
			return NULL;
		memset(of + last_bad->room, 0, (room - last_bad->room) * sizeof(*of));
		last_bad->of = of;
		last_bad->room = room;
	}
	return &last_bad->of[rank];
}

void last_bad_note(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct operation *operation = instance_joined(instance, member);
	const struct member *of = &instance->communicator->members[member];
	struct last_bad_value *value = operation ? of_rank(analysis, of->rank) : NULL;

	if (!value || operation->ticket <= value->ticket)
		return;
	analysis->origin.last_bad.count += !value->ticket || value->clean;
	*value = (struct last_bad_value){ .ticket = operation->ticket, .step = of->process->steps.step, .side = side };
	value->has_spot = usual_spot(instance, member, &value->spot);
}

void last_bad_clean(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side)
{
	struct last_bad *last_bad = &analysis->origin.last_bad;
	uint32_t rank = instance->communicator->members[member].rank;
	const struct operation *operation = instance_joined(instance, member);
	struct usual_spot spot;

	if (!last_bad->count || rank >= last_bad->room || !operation)
		return;
	struct last_bad_value *value = &last_bad->of[rank];
	if (!value->ticket || value->clean || operation->ticket <= value->ticket ||
	    !usual_spot(instance, member, &spot))
		return;
	value->clean = value->has_spot ? value->side == side && usual_spot_is(&spot, &value->spot)
				       : spot.step >= value->step + LAST_BAD_STEPS;
	last_bad->count -= value->clean;
}

void last_bad_end(struct analysis *analysis)
{
	struct last_bad *last_bad = &analysis->origin.last_bad;

	for (uint32_t i = 0; i < last_bad->room; i++)
		if (last_bad->of[i].ticket >= analysis->job.ranks[i].values_from)
			analysis->job.ranks[i].values_from = last_bad->of[i].ticket + 1;
	if (last_bad->room)
		memset(last_bad->of, 0, last_bad->room * sizeof(*last_bad->of));
	last_bad->count = 0;
}

void last_bad_free(struct last_bad *last_bad)
{
	free(last_bad->of);
	*last_bad = (struct last_bad){ 0 };
}
