/* SPDX-License-Identifier: MIT */
#include "console/trace/slices.h"

#include <stdlib.h>

/* What is open on a lane: the ends, the innermost last. */
struct lane {
	uint64_t *ends;
	size_t depth, room;
};

void slices_add(struct slices *slices, const struct slice *slice)
{
	if (slices->count == slices->room) {
		size_t room = slices->room ? 2 * slices->room : 1024;
		struct slice *list = reallocarray(slices->list, room, sizeof(*list));

		if (!list) {
			slices->no_memory = true;
			return;
		}
		slices->list = list;
		slices->room = room;
	}
	struct slice *added = &slices->list[slices->count++];

	*added = *slice;
	if (added->end_ns < added->begin_ns)
		added->end_ns = added->begin_ns;
}

/* What begins first and lasts longer comes first; groups in front of their first call. */
static int by_time(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	if (left->track != right->track)
		return left->track < right->track ? -1 : 1;
	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind > right->kind ? -1 : 1;
	return (left->about > right->about) - (left->about < right->about);
}

static int by_lane(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	if (left->track != right->track || left->lane == right->lane)
		return by_time(a, b);
	return left->lane < right->lane ? -1 : 1;
}

/* Ends what does not reach beyond the slice's begin; does the slice fit into what is left? */
static bool fits(struct lane *lane, const struct slice *slice)
{
	while (lane->depth && lane->ends[lane->depth - 1] <= slice->begin_ns)
		lane->depth--;
	return !lane->depth || slice->end_ns <= lane->ends[lane->depth - 1];
}

static bool push(struct lane *lane, uint64_t end_ns)
{
	if (lane->depth == lane->room) {
		size_t room = lane->room ? 2 * lane->room : 64;
		uint64_t *ends = reallocarray(lane->ends, room, sizeof(*ends));

		if (!ends)
			return false;
		lane->ends = ends;
		lane->room = room;
	}
	lane->ends[lane->depth++] = end_ns;
	return true;
}

static void place(struct slices *slices, struct slice *slice, struct lane *lanes)
{
	uint16_t lane = 0;

	while (lane < SLICES_LANES && !fits(&lanes[lane], slice))
		lane++;
	if (lane == SLICES_LANES) {
		lane--;
		slice->clipped_ns = slice->end_ns - slice->begin_ns;
		slice->end_ns = lanes[lane].ends[lanes[lane].depth - 1];
	}
	slice->lane = lane;
	if (!push(&lanes[lane], slice->end_ns))
		slices->no_memory = true;
}

void slices_order(struct slices *slices)
{
	struct lane lanes[SLICES_LANES] = { 0 };

	if (!slices->count)
		return;
	qsort(slices->list, slices->count, sizeof(*slices->list), by_time);
	for (size_t i = 0; i < slices->count; i++) {
		for (size_t j = 0; i && slices->list[i].track != slices->list[i - 1].track && j < SLICES_LANES; j++)
			lanes[j].depth = 0;
		place(slices, &slices->list[i], lanes);
	}
	for (size_t i = 0; i < SLICES_LANES; i++)
		free(lanes[i].ends);
	qsort(slices->list, slices->count, sizeof(*slices->list), by_lane);
}

void slices_free(struct slices *slices)
{
	free(slices->list);
	*slices = (struct slices){ 0 };
}
