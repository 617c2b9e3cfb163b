/* SPDX-License-Identifier: MIT */
#include "analysis/hang/circle_walk.h"

#include <string.h>

static uint32_t position_of(const uint32_t *way, uint32_t count, uint32_t rank)
{
	uint32_t at = 0;

	while (at < count && way[at] != rank)
		at++;
	return at;
}

static void begin_with_lowest(uint32_t *ranks, uint32_t count)
{
	uint32_t turned[CIRCLE_RANKS_MAX], lowest = 0;

	for (uint32_t i = 1; i < count; i++)
		if (ranks[i] < ranks[lowest])
			lowest = i;
	for (uint32_t i = 0; i < count; i++)
		turned[i] = ranks[(lowest + i) % count];
	memcpy(ranks, turned, count * sizeof(*ranks));
}

uint32_t circle_walk(uint32_t rank, circle_awaited *awaited, const void *argument, bool *met,
		     uint32_t ranks[CIRCLE_RANKS_MAX])
{
	uint32_t way[CIRCLE_RANKS_MAX], count = 0;

	while (rank != CIRCLE_NOBODY && !met[rank] && count < CIRCLE_RANKS_MAX) {
		met[rank] = true;
		way[count++] = rank;
		rank = awaited(argument, rank);
	}
	uint32_t from = position_of(way, count, rank);
	memcpy(ranks, way + from, (count - from) * sizeof(*ranks));
	if (from < count)
		begin_with_lowest(ranks, count - from);
	return count - from;
}
