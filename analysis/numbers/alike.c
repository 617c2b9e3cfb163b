/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/alike.h"

#include <errno.h>
#include <stdlib.h>

/* Disjoint sets of ranks: each points to another of its set, the last to itself. */
static uint32_t find(uint32_t *sets, uint32_t rank)
{
	while (sets[rank] != rank) {
		sets[rank] = sets[sets[rank]];
		rank = sets[rank];
	}
	return rank;
}

static void join_members(uint32_t *sets, const struct communicator *communicator)
{
	for (uint32_t i = 1; i < communicator->member_count; i++)
		sets[find(sets, communicator->members[i].rank)] = find(sets, communicator->members[0].rank);
}

static void begin(uint32_t *sets, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		sets[i] = i;
}

bool alike_exchange(const struct communicator *communicator)
{
	uint64_t size = communicator->size > (int32_t)communicator->member_count ? (uint64_t)communicator->size
										 : communicator->member_count;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		if (!member->sent || member->sent_itself * size * ALIKE_EXCHANGES < member->sent)
			return false;
	}
	return communicator->point_to_point;
}

/* Are no two of its members in the same pipeline? `seen`: by rank, zeroed once. */
static bool is_across(uint32_t *pipelines, uint32_t *seen, const struct communicator *communicator)
{
	uint32_t mark = communicator->index + 1;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		uint32_t *pipeline = &seen[find(pipelines, communicator->members[i].rank)];
		if (*pipeline == mark)
			return false;
		*pipeline = mark;
	}
	return true;
}

int alike_find(const struct job *job, bool exchanges, uint32_t *groups)
{
	uint32_t *pipelines = calloc(job->rank_count + 1, sizeof(*pipelines));
	uint32_t *seen = calloc(job->rank_count + 1, sizeof(*seen));

	if (!pipelines || !seen) {
		free(pipelines);
		free(seen);
		return -ENOMEM;
	}
	begin(pipelines, job->rank_count);
	begin(groups, job->rank_count);
	for (uint32_t i = 0; i < job->communicator_count; i++)
		if (job->communicators[i]->point_to_point && !(exchanges && alike_exchange(job->communicators[i])))
			join_members(pipelines, job->communicators[i]);
	for (uint32_t i = 0; i < job->communicator_count; i++)
		if (is_across(pipelines, seen, job->communicators[i]))
			join_members(groups, job->communicators[i]);
	for (uint32_t i = 0; i < job->rank_count; i++)
		groups[i] = find(groups, i);
	free(pipelines);
	free(seen);
	return 0;
}
