/* SPDX-License-Identifier: MIT */
/* The communicators of the processes that live: NCCL numbers them at random, so they tell one run of a job from the
 * one before it. */
#ifndef COLLECTOR_WORLD_H
#define COLLECTOR_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/live_box.h"

struct world {
	uint64_t *ids;
	size_t count, room;
	bool changed; /* by the last update */
};

/* Adds the communicators of boxes that are live. Out of memory: the rest is left out. */
void world_update(struct world *world, struct live_box *const *boxes, size_t count);
bool world_shares(const struct world *world, const struct box_reader *reader);
void world_free(struct world *world);

#endif
