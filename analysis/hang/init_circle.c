/* SPDX-License-Identifier: MIT */
#include "analysis/hang/init_circle.h"

#include <stdlib.h>

/* Every rank that has come, by its number. */
struct standers {
	struct init_circle_link *items;
	uint32_t count;
};

static int by_rank(const void *a, const void *b)
{
	const struct init_circle_link *left = a, *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool find_standers(struct standers *standers, const struct gatherings *gatherings)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < gatherings->count; i++)
		room += gatherings->items[i].present_count;
	*standers = (struct standers){ .items = room ? malloc(room * sizeof(*standers->items)) : NULL };
	if (!standers->items)
		return false;
	for (uint32_t i = 0; i < gatherings->count; i++)
		for (uint32_t k = 0; k < gatherings->items[i].present_count; k++)
			standers->items[standers->count++] =
			    (struct init_circle_link){ gatherings->items[i].present[k], &gatherings->items[i] };
	qsort(standers->items, standers->count, sizeof(*standers->items), by_rank);
	return true;
}

/* For the first one that is missing there. One that waits in no init is the rank that inits.c reports, and nobody is in
 * a circle with it. */
static uint32_t awaited(const void *argument, uint32_t at)
{
	const struct standers *standers = argument;
	const struct gathering *gathering = standers->items[at].gathering;
	uint32_t found = CIRCLE_NOBODY;

	for (uint32_t i = 0; i < gathering->missing_count; i++) {
		const struct init_circle_link key = { .rank = gathering->missing[i] };
		const struct init_circle_link *next =
		    bsearch(&key, standers->items, standers->count, sizeof(key), by_rank);
		if (!next)
			return CIRCLE_NOBODY;
		if (found == CIRCLE_NOBODY)
			found = (uint32_t)(next - standers->items);
	}
	return found;
}

/* The first one that a walk from any of them leads into; 0: there is none. */
static uint32_t walk_all(const struct standers *standers, uint32_t circle[CIRCLE_RANKS_MAX])
{
	bool *met = calloc(standers->count, sizeof(*met));
	uint32_t count = 0;

	for (uint32_t i = 0; met && i < standers->count && !count; i++)
		count = circle_walk(i, awaited, standers, met, circle);
	free(met);
	return count;
}

bool init_circle_find(const struct gatherings *gatherings, struct init_circle *circle)
{
	struct standers standers;
	uint32_t found[CIRCLE_RANKS_MAX];

	*circle = (struct init_circle){ .count = 0 };
	if (find_standers(&standers, gatherings))
		circle->count = walk_all(&standers, found);
	for (uint32_t i = 0; i < circle->count; i++) {
		circle->links[i] = standers.items[found[i]];
		if (circle->links[i].gathering->since_ns > circle->since_ns)
			circle->since_ns = circle->links[i].gathering->since_ns;
	}
	free(standers.items);
	return circle->count;
}
