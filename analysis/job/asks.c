/* SPDX-License-Identifier: MIT */
#include "analysis/job/asks.h"

#include <string.h>

struct asking {
	struct rw_batch header;
	struct rw_message message;
};

static_assert(sizeof(struct asking) == sizeof(struct rw_batch) + RW_MESSAGE_SIZE, "a batch of one");

static void ask_for(struct asks *asks, const struct world *world, uint32_t rank, job_half_ask *ask, void *argument)
{
	const struct world_host *host = world_host(world, rank);
	struct asking asking = {
		.header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = 1, .number = asks->number++ },
		.message = { .type = RW_MESSAGE_ASK, .generation = world->generation, .rank = (int32_t)rank },
	};

	memcpy(asking.header.host, host->name, sizeof(asking.header.host));
	memcpy(asking.header.job, world->job, sizeof(asking.header.job));
	ask(argument, host->name, &asking, sizeof(asking));
}

void asks_tick(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	uint32_t asked = 0;

	if (now_ns < asks->looked_ns + ASKS_LOOK_NS)
		return;
	asks->looked_ns = now_ns;
	for (uint32_t i = 0; i < world->rank_room && asked < ASKS_MAX; i++) {
		struct world_rank *rank = &world->ranks[i];
		bool wanted = rank->wanted_ns && now_ns < rank->wanted_ns + ASKS_FRESH_NS;
		if (rank->host == WORLD_NONE || !wanted || (rank->asked_ns && now_ns < rank->asked_ns + ASKS_EVERY_NS))
			continue;
		rank->asked_ns = now_ns;
		asked++;
		ask_for(asks, world, i, ask, argument);
	}
}
