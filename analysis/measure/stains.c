/* SPDX-License-Identifier: MIT */
#include "analysis/measure/stains.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"

static struct stain *stain_of(struct analysis *analysis, uint32_t rank)
{
	struct stains *stains = &analysis->origin.stains;

	if (rank >= stains->room) {
		uint32_t room = analysis->job.rank_count;
		struct stain *of = realloc(stains->of, room * sizeof(*of));
		if (!of)
			return NULL;
		memset(of + stains->room, 0, (room - stains->room) * sizeof(*of));
		stains->of = of;
		stains->room = room;
	}
	return &stains->of[rank];
}

void stains_note(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side)
{
	const struct operation *operation = instance_joined(instance, member);
	const struct member *of = &instance->communicator->members[member];
	struct stain *stain = operation ? stain_of(analysis, of->rank) : NULL;

	if (!stain || operation->ticket <= stain->ticket)
		return;
	analysis->origin.stains.count += !stain->ticket || stain->clean;
	*stain = (struct stain){ .ticket = operation->ticket, .step = of->process->steps.step, .side = side };
	stain->has_spot = usual_spot(instance, member, &stain->spot);
}

void stains_clean(struct analysis *analysis, const struct instance *instance, uint32_t member, enum value_side side)
{
	struct stains *stains = &analysis->origin.stains;
	uint32_t rank = instance->communicator->members[member].rank;
	const struct operation *operation = instance_joined(instance, member);
	struct usual_spot spot;

	if (!stains->count || rank >= stains->room || !operation)
		return;
	struct stain *stain = &stains->of[rank];
	if (!stain->ticket || stain->clean || operation->ticket <= stain->ticket ||
	    !usual_spot(instance, member, &spot))
		return;
	stain->clean = stain->has_spot ? stain->side == side && usual_spot_is(&spot, &stain->spot)
				       : spot.step >= stain->step + STAINS_STEPS;
	stains->count -= stain->clean;
}

void stains_end(struct analysis *analysis)
{
	struct stains *stains = &analysis->origin.stains;

	for (uint32_t i = 0; i < stains->room; i++)
		if (stains->of[i].ticket >= analysis->job.ranks[i].values_from)
			analysis->job.ranks[i].values_from = stains->of[i].ticket + 1;
	if (stains->room)
		memset(stains->of, 0, stains->room * sizeof(*stains->of));
	stains->count = 0;
}

void stains_free(struct stains *stains)
{
	free(stains->of);
	*stains = (struct stains){ 0 };
}
