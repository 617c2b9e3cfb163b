/* SPDX-License-Identifier: MIT */
#include "analysis/job/asks.h"

#include <string.h>

#include "analysis/job/search.h"

struct asking {
	struct rw_batch header;
	struct rw_message message;
};

static_assert(sizeof(struct asking) == sizeof(struct rw_batch) + RW_MESSAGE_SIZE, "a batch of one");

static void ask_host(struct asks *asks, const struct world *world, const struct world_host *host,
		     const struct rw_message *message, job_half_ask *ask, void *argument)
{
	struct asking asking = {
		.header = { .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .count = 1, .number = asks->number++ },
		.message = *message,
	};

	memcpy(asking.header.host, host->name, sizeof(asking.header.host));
	memcpy(asking.header.job, world->job, sizeof(asking.header.job));
	ask(argument, host->name, &asking, sizeof(asking));
}

static bool is_wanted(uint64_t wanted_ns, uint64_t now_ns)
{
	return wanted_ns && now_ns < wanted_ns + ASKS_FRESH_NS;
}

/* The host of the nearest rank, in this direction, whose host is known. */
static const struct world_host *host_beside(const struct world *world, uint32_t rank, int direction)
{
	for (int64_t i = (int64_t)rank + direction; i >= 0 && i < world->rank_room; i += direction)
		if (world_rank(world, (uint32_t)i))
			return world_host(world, (uint32_t)i);
	return NULL;
}

/* Of one of which no host has told anything yet: launchers number the ranks of a host in a row, so it is on that of its
 * neighbours, or on one none of whose ranks is known. */
static void ask_unknown(struct asks *asks, const struct world *world, const struct rw_message *message, uint64_t now_ns,
			job_half_ask *ask, void *argument)
{
	const struct world_host *before = host_beside(world, (uint32_t)message->rank, -1),
				*after = host_beside(world, (uint32_t)message->rank, 1);
	uint32_t asked = 0;

	if (before)
		ask_host(asks, world, before, message, ask, argument);
	if (after && after != before)
		ask_host(asks, world, after, message, ask, argument);
	for (uint32_t i = 0; i < world->host_count && asked < ASKS_MAX; i++) {
		const struct world_host *host = &world->hosts[i];
		if (host->ranks || host->ended || world_is_silent(host, now_ns) || world_is_stranger(host, now_ns))
			continue;
		ask_host(asks, world, host, message, ask, argument);
		asked++;
	}
}

static void ask_why(struct asks *asks, struct world *world, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	uint32_t asked = 0;

	for (uint32_t i = 0; i < world->rank_room && asked < ASKS_MAX; i++) {
		struct world_rank *rank = &world->ranks[i];
		bool why = is_wanted(rank->wanted_ns, now_ns), absence = is_wanted(rank->absence_wanted_ns, now_ns);
		struct rw_message message = { .type = RW_MESSAGE_ASK, .generation = world->generation, .rank = (int32_t)i,
					      .ask.flags = rank->wanted_of_host ? RW_ASK_HOST : 0 };
		if ((!why && !absence) || (rank->asked_ns && now_ns < rank->asked_ns + ASKS_EVERY_NS))
			continue;
		rank->asked_ns = now_ns;
		asked++;
		if (why && rank->host != WORLD_NONE)
			ask_host(asks, world, world_host(world, i), &message, ask, argument);
		message.ask = (struct rw_message_ask){ .flags = RW_ASK_ABSENCE,
						       .splits = rank->wanted_splits,
						       .parent = rank->wanted_parent };
		if (absence && rank->host != WORLD_NONE)
			ask_host(asks, world, world_host(world, i), &message, ask, argument);
		else if (absence)
			ask_unknown(asks, world, &message, now_ns, ask, argument);
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
				ask_host(asks, world, world_host(world, search->sides[k].rank), &message, ask, argument);
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
