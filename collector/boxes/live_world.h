/* SPDX-License-Identifier: MIT */
/* The communicators of the processes that live: NCCL numbers them at random, so they distinguish one run of a job from
 * the one before it. */
#ifndef COLLECTOR_BOXES_LIVE_WORLD_H
#define COLLECTOR_BOXES_LIVE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/boxes/live_box.h"

struct live_world {
	uint64_t *ids;
	size_t count, room;
	bool changed; /* by the last update */
};

/* Adds the communicators of boxes that are live. Out of memory: the rest is left out. */
void live_world_update(struct live_world *world, struct live_box *const *boxes, size_t count);
bool live_world_shares(const struct live_world *world, const struct box_reader *reader);
void live_world_free(struct live_world *world);

#endif
