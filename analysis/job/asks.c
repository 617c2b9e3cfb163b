/* SPDX-License-Identifier: MIT */
#include "analysis/job/asks.h"

#include <string.h>

#include "analysis/job/search.h"

struct asking {
	struct rw_batch header;
	struct rw_message message;
};

static_assert(sizeof(struct asking) == sizeof(struct rw_batch) + RW_MESSAGE_SIZE, "a batch of one");

/* Sends the message to the host of its rank. */
static void ask_host(struct asks *asks, const struct world *world, const struct rw_message *message, job_half_ask *ask, void *argument)
{
	const struct world_host *host = world_host(world, (uint32_t)message->rank);
	struct asking asking = {
		.header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = 1, .number = asks->number++ },
		.message = *message,
	};

	memcpy(asking.header.host, host->name, sizeof(asking.header.host));
	memcpy(asking.header.job, world->job, sizeof(asking.header.job));
	ask(argument, host->name, &asking, sizeof(asking));
}

static void ask_why(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	uint32_t asked = 0;

	for (uint32_t i = 0; i < world->rank_room && asked < ASKS_MAX; i++) {
		struct world_rank *rank = &world->ranks[i];
		bool wanted = rank->wanted_ns && now_ns < rank->wanted_ns + ASKS_FRESH_NS;
		if (rank->host == WORLD_NONE || !wanted || (rank->asked_ns && now_ns < rank->asked_ns + ASKS_EVERY_NS))
			continue;
		rank->asked_ns = now_ns;
		asked++;
		const struct rw_message message = { .type = RW_MESSAGE_ASK, .generation = world->generation, .rank = (int32_t)i };
		ask_host(asks, world, &message, ask, argument);
	}
}

static void ask_calls(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct search *search = world->comms[i]->search;
		for (int k = 0; search && k < 2; k++) {
			struct rw_message message = { .type = RW_MESSAGE_ASK_CALLS, .generation = world->generation,
						      .rank = (int32_t)search->sides[k].rank };
			if (search_asks(search, &search->sides[k], world->comms[i]->id, &message.ask_calls, now_ns))
				ask_host(asks, world, &message, ask, argument);
		}
	}
}

void asks_tick(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	if (now_ns < asks->looked_ns + ASKS_LOOK_NS)
		return;
	asks->looked_ns = now_ns;
	ask_why(asks, world, now_ns, ask, argument);
	ask_calls(asks, world, now_ns, ask, argument);
}
