/* SPDX-License-Identifier: MIT */
#include "analysis/job/pipelines.h"

#include <stdlib.h>

/* The first rank of its pipeline. */
static uint32_t find(uint32_t *sets, uint32_t rank)
{
	while (sets[rank] != rank) {
		sets[rank] = sets[sets[rank]];
		rank = sets[rank];
	}
	return rank;
}

static uint32_t count_sending(const struct world *world, const struct world_rank *rank)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rank->membership_count; i++)
		count += world_joined(world, rank, i)->sends;
	return count;
}

/* Are no two of its members in one pipeline, as far as all was told that may make them so? `seen`: by rank, zeroed
 * once. */
static bool is_across(const struct world *world, uint32_t *pipelines, uint32_t *seen, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++) {
		uint32_t number = comm->members[i].rank;
		const struct world_rank *rank = &world->ranks[number];
		uint32_t *pipeline = &seen[find(pipelines, number)];
		if (*pipeline == comm->index + 1 || !rank->told || count_sending(world, rank) < rank->sending)
			return false;
		*pipeline = comm->index + 1;
	}
	return true;
}

static uint32_t count_hosts(const struct world *world, const struct world_comm *comm)
{
	uint32_t first = WORLD_NONE;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		uint32_t host = world->ranks[comm->members[i].rank].host;
		if (first != WORLD_NONE && host != first)
			return 2;
		first = host;
	}
	return 1;
}

static void note_all(struct world *world, uint32_t *pipelines, uint32_t *seen)
{
	for (uint32_t i = 0; i < world->rank_room; i++)
		pipelines[i] = i;
	for (uint32_t i = 0; i < world->comm_count; i++) {
		const struct world_comm *comm = world->comms[i];
		for (uint32_t k = 1; comm->sends && k < comm->member_count; k++)
			pipelines[find(pipelines, comm->members[k].rank)] = find(pipelines, comm->members[0].rank);
	}
	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		comm->across = is_across(world, pipelines, seen, comm);
		comm->hosts = count_hosts(world, comm);
	}
}

void pipelines_find(struct world *world)
{
	uint32_t *pipelines = calloc(world->rank_room + 1, sizeof(*pipelines));
	uint32_t *seen = calloc(world->rank_room + 1, sizeof(*seen));

	if (pipelines && seen)
		note_all(world, pipelines, seen);
	free(pipelines);
	free(seen);
}
