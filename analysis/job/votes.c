/* SPDX-License-Identifier: MIT */
#include "analysis/job/votes.h"

#include <stdlib.h>

#include "analysis/numbers/sorting.h"

static int by_value(const void *left, const void *right)
{
	const struct vote *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

void votes_count(struct votes *votes)
{
	votes->usual_count = 0;
	qsort(votes->cast, votes->count, sizeof(*votes->cast), by_value);
	for (uint32_t i = 0, first = 0; i < votes->count; i++) {
		if (votes->cast[i].value != votes->cast[first].value)
			first = i;
		if (i - first + 1 > votes->usual_count) {
			votes->usual_count = i - first + 1;
			votes->usual = votes->cast[i].value;
		}
	}
}

bool votes_have_majority(const struct votes *votes, const struct world_comm *comm)
{
	return comm->size > 0 && votes->usual_count * 2 > (uint32_t)comm->size;
}

void votes_split(const struct votes *votes, bool majority, uint32_t *odd, uint32_t *odd_count, uint32_t *usual,
		 uint32_t *usual_count)
{
	*odd_count = *usual_count = 0;
	for (uint32_t i = 0; i < votes->count; i++) {
		if (majority && votes->cast[i].value == votes->usual)
			usual[(*usual_count)++] = votes->cast[i].rank;
		else
			odd[(*odd_count)++] = votes->cast[i].rank;
	}
	sort_u32(odd, *odd_count);
}
