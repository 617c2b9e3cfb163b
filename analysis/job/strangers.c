/* SPDX-License-Identifier: MIT */
#include "analysis/job/strangers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/batch.h"

/* A host that is judged, and is heard. */
static bool is_judged(const struct world *world, uint32_t at, uint64_t now_ns)
{
	const struct world_host *host = &world->hosts[at];

	return host->ranks && !host->ended && !world_is_silent(host, now_ns) && !world_is_stranger(host, now_ns);
}

/* Whether another host that is judged is in this communicator, which no two jobs share. */
static bool is_kin(const struct world *world, uint32_t host, uint64_t id, uint64_t now_ns)
{
	const struct world_comm *comm = world_comm(world, id);

	for (uint32_t i = 0; comm && i < comm->member_count; i++) {
		uint32_t other = world->ranks[comm->members[i].rank].host;
		if (other != host && is_judged(world, other, now_ns))
			return true;
	}
	return false;
}

/* A rank that another judged host has told of; NULL: there is none. */
static const struct world_rank *rank_of_another(const struct world *world, uint32_t host, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = world_rank(world, i);
		if (rank && rank->told && rank->world_size > 0 && rank->host != host &&
		    is_judged(world, rank->host, now_ns))
			return rank;
	}
	return NULL;
}

/* Whether what the message says cannot be true of the job that is judged; and why, in words. */
static bool contradicts(const struct world *world, uint32_t host, const struct rw_message *message,
			const struct world_rank *another, uint64_t now_ns, char why[STRANGERS_WHY])
{
	const struct rw_message_rank *told = &message->of_rank;
	const struct world_rank *same = message->rank >= 0 ? world_rank(world, (uint32_t)message->rank) : NULL;
	const char *name = world->hosts[host].name;

	if (told->life >= RW_MESSAGE_EXITED)
		return false;
	if (message->generation != world->generation) {
		snprintf(why, STRANGERS_WHY, "%s is in start %u of the job, the others are in start %u", name,
			 message->generation, world->generation);
		return !world_is_later(world, message->generation) && now_ns >= world->begun_ns + STRANGERS_BEHIND_NS;
	}
	if (same && same->host != host && same->told && !world_is_dead(same) && is_judged(world, same->host, now_ns)) {
		snprintf(why, STRANGERS_WHY, "%s and %s both have rank %d, and share no communicator",
			 world->hosts[same->host].name, name, message->rank);
		return true;
	}
	if (!another || told->world_size <= 0 || told->world_size == another->world_size)
		return false;
	snprintf(why, STRANGERS_WHY, "%s is of a job of %d ranks, %s of one of %d, and they share no communicator",
		 world->hosts[another->host].name, another->world_size, name, told->world_size);
	return true;
}

static void add_name(struct strangers *strangers, const char *name, uint64_t now_ns)
{
	size_t used = strlen(strangers->names);

	if (used + strlen(name) + 5 < sizeof(strangers->names))
		snprintf(strangers->names + used, sizeof(strangers->names) - used, "%s%s", used ? ", " : "", name);
	else if (used + 5 < sizeof(strangers->names) && strangers->names[used - 1] != '.')
		strcpy(strangers->names + used, ", ...");
	if (!strangers->count++)
		strangers->due_ns = now_ns + STRANGERS_SAY_NS;
}

/* Returns whether the host is one from now on. */
static bool note_contradiction(struct strangers *strangers, struct world_host *host, const char *why, uint64_t now_ns)
{
	bool before = world_is_stranger(host, now_ns);

	if (!host->contradicts_ns)
		host->contradicts_ns = now_ns;
	if (now_ns < host->contradicts_ns + STRANGERS_LASTS_NS)
		return false;
	host->stranger_ns = now_ns;
	if (before)
		return false;
	if (!strangers->count)
		snprintf(strangers->why, sizeof(strangers->why), "%s", why);
	add_name(strangers, host->name, now_ns);
	return true;
}

bool strangers_note(struct strangers *strangers, struct world *world, uint32_t at, const struct rw_batch *header,
		    const void *bytes, uint64_t now_ns)
{
	struct world_host *host = &world->hosts[at];
	const struct world_rank *another = NULL;
	bool told = false, contradiction = false, looked = false;
	char why[STRANGERS_WHY] = "";

	for (uint32_t i = 0; i < header->count; i++) {
		struct rw_message message;
		if (!batch_message(bytes, i, &message))
			continue;
		if (message.type == RW_MESSAGE_MEMBER)
			host->kin = host->kin || (message.generation == world->generation &&
						  is_kin(world, at, message.member.comm, now_ns));
		if (message.type != RW_MESSAGE_RANK)
			continue;
		another = looked ? another : rank_of_another(world, at, now_ns);
		looked = told = true;
		contradiction = contradiction || contradicts(world, at, &message, another, now_ns, why);
	}
	if (!told)
		return false;
	if (!contradiction || host->kin) {
		host->contradicts_ns = 0;
		return false;
	}
	return note_contradiction(strangers, host, why, now_ns) && host->ranks;
}

static bool say_twin(struct world *world, char line[STRANGERS_LINE])
{
	for (uint32_t i = 0; world->twins && i < world->host_count; i++) {
		struct world_host *host = &world->hosts[i];
		if (!host->twin || host->twin_said)
			continue;
		host->twin_said = true;
		world->twins--;
		snprintf(line, STRANGERS_LINE,
			 "two collectors %s call themselves host %s of this job at once: only the one that came last "
			 "is judged; collect --host gives each a name",
			 host->restarted ? "on two machines" : "on one machine", host->name);
		return true;
	}
	return false;
}

bool strangers_say(struct strangers *strangers, struct world *world, uint64_t now_ns, char line[STRANGERS_LINE])
{
	if (say_twin(world, line))
		return true;
	if (!strangers->due_ns || now_ns < strangers->due_ns)
		return false;
	snprintf(line, STRANGERS_LINE,
		 "two jobs of this name at once: %s. Not judged: %" PRIu32
		 " host%s: %s. RANKWATCH_JOB or --job gives each job a name",
		 strangers->why, strangers->count, strangers->count == 1 ? "" : "s", strangers->names);
	strangers->due_ns = 0;
	strangers->count = 0;
	strangers->names[0] = '\0';
	return true;
}
