/* SPDX-License-Identifier: MIT */
#include "collector/boxes/live_world.h"

#include <stdlib.h>

/* A box's first communicators are the ones that all its ranks share; a few identify a run as well as all of them. */
enum { LOOKED_AT = 16 };

static bool has(const struct live_world *world, uint64_t id)
{
	for (size_t i = 0; i < world->count; i++)
		if (world->ids[i] == id)
			return true;
	return false;
}

static void add(struct live_world *world, uint64_t id)
{
	if (has(world, id))
		return;
	if (world->count == world->room) {
		size_t room = world->room ? world->room * 2 : 64;
		uint64_t *ids = realloc(world->ids, room * sizeof(*ids));

		if (!ids)
			return;
		world->ids = ids;
		world->room = room;
	}
	world->ids[world->count++] = id;
	world->changed = true;
}

static int read_ids(const struct box_reader *reader, uint64_t ids[LOOKED_AT])
{
	struct rw_communicator communicators[LOOKED_AT];
	int copied = box_reader_communicators(reader, 0, LOOKED_AT, communicators);
	int count = 0;

	for (int i = 0; i < copied; i++)
		if (communicators[i].created_ns)
			ids[count++] = communicators[i].id;
	return count;
}

void live_world_update(struct live_world *world, struct live_box *const *boxes, size_t count)
{
	uint64_t ids[LOOKED_AT];

	world->changed = false;
	for (size_t i = 0; i < count; i++) {
		if (boxes[i]->state != BOX_LIVE)
			continue;
		int found = read_ids(feed_reader(boxes[i]->feed), ids);

		for (int j = 0; j < found; j++)
			add(world, ids[j]);
	}
}

bool live_world_shares(const struct live_world *world, const struct box_reader *reader)
{
	uint64_t ids[LOOKED_AT];
	int found = read_ids(reader, ids);

	for (int j = 0; j < found; j++)
		if (has(world, ids[j]))
			return true;
	return false;
}

void live_world_free(struct live_world *world)
{
	free(world->ids);
	*world = (struct live_world){ 0 };
}
