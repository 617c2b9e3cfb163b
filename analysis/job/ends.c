/* SPDX-License-Identifier: MIT */
#include "analysis/job/ends.h"

#include "analysis/job/place.h"
#include "analysis/known/ending.h"

/* The ranks that ended within ENDS_TOGETHER_NS of the first. */
struct together {
	uint64_t first_ns, next_ns, last_ns; /* when the first of them ended, and the first and last that are not of them;
					      * next_ns UINT64_MAX: none has */
	bool others_failed; /* of those that are not of them */
	uint32_t count, lowest;     /* rank */
	uint32_t clean, failed;     /* at the end of the program, and with an error */
	uint32_t killed, killed_rank; /* by the kernel, or by a signal of a crash: how many, and the last of them */
	uint32_t absent, absent_rank; /* in no operation when they failed: likewise */
	/* by a signal of a launcher or scheduler: how many, and their host; WORLD_NONE: of several */
	uint32_t asked, asked_host;
};

/* Boxes alone only say whether it was through exit(), and that is no end of a program that others wait for. Who ended
 * otherwise may have been asked to. */
static enum ending ending_of(const struct world_rank *rank)
{
	enum ending ending = ending_of_status(rank->exit_status);

	return ending == ENDING_UNKNOWN && rank->life == RW_MESSAGE_EXITED ? ENDING_FAILED : ending;
}

/* As those end that lose a peer. */
static bool is_failure(enum ending ending)
{
	return ending == ENDING_FAILED || ending == ENDING_ABORTED;
}

/* Whether its host said at the end that it waited in an operation. Hosts round times: a wait of the second before
 * counts, too, and then nobody is named. */
static const struct world_flight *waited_in(const struct world_rank *rank, const struct world_member *member)
{
	const struct world_flight *flight = member->standing ? &member->standing->flight : NULL;

	bool was_there = flight && flight->heard_ns + ENDS_TOGETHER_NS >= rank->life_ns;

	return was_there && flight->flags & RW_MESSAGE_ARRIVED ? flight : NULL;
}

static bool waited(const struct world *world, const struct world_rank *rank)
{
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		const struct world_membership *membership = &rank->memberships[i];
		if (waited_in(rank, &world->comms[membership->comm]->members[membership->member]))
			return true;
	}
	return false;
}

static void add(const struct world *world, struct together *together, const struct world_rank *rank, uint32_t number)
{
	enum ending ending = ending_of(rank);

	together->lowest = together->count ? together->lowest : number;
	together->count++;
	together->clean += ending == ENDING_CLEAN;
	together->failed += is_failure(ending);
	if (ending == ENDING_ASKED) {
		together->asked_host = !together->asked || together->asked_host == rank->host ? rank->host : WORLD_NONE;
		together->asked++;
	}
	if (is_failure(ending) && !waited(world, rank)) {
		together->absent++;
		together->absent_rank = number;
	}
	if (ending != ENDING_KILLED && ending != ENDING_CRASHED)
		return;
	together->killed++;
	together->killed_rank = number;
}

static void add_later(struct together *together, const struct world_rank *rank)
{
	together->next_ns = rank->life_ns < together->next_ns ? rank->life_ns : together->next_ns;
	together->last_ns = rank->life_ns > together->last_ns ? rank->life_ns : together->last_ns;
	together->others_failed |= is_failure(ending_of(rank));
}

/* Where all fail, some take longer to end than others: the first must be far off from them. */
static bool stands_out(const struct together *together)
{
	return !together->failed || !together->others_failed ||
	       together->next_ns - together->first_ns >= ENDS_SPREAD * (together->last_ns - together->next_ns);
}

/* Who has come to the end of its program, and is missed nowhere, has ended nobody. */
static bool counts(const struct world_rank *rank, bool missing)
{
	return world_is_dead(rank) && (missing || ending_of(rank) != ENDING_CLEAN);
}

static struct together find_together(const struct world *world, const bool *missing)
{
	struct together together = { .first_ns = UINT64_MAX, .next_ns = UINT64_MAX };

	for (uint32_t i = 0; i < world->rank_room; i++)
		if (counts(&world->ranks[i], missing[i]) && world->ranks[i].life_ns < together.first_ns)
			together.first_ns = world->ranks[i].life_ns;
	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = &world->ranks[i];
		if (!counts(rank, missing[i]))
			continue;
		if (rank->life_ns <= together.first_ns + ENDS_TOGETHER_NS)
			add(world, &together, rank, i);
		else
			add_later(&together, rank);
	}
	return together;
}

static uint32_t count_alive(const struct world *world)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < world->rank_room; i++)
		alive += world->ranks[i].told && !world_is_dead(&world->ranks[i]);
	return alive;
}

/* A launcher may kill a host's other ranks once one of them has failed, or all ranks of the job; none kills a single
 * rank of another host. */
static bool is_killed_first(const struct world *world, const struct together *together)
{
	uint32_t host = world->ranks[together->killed_rank].host, victims = 0;

	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = &world->ranks[i];
		bool then = world_is_dead(rank) && rank->life_ns <= together->first_ns + ENDS_TOGETHER_NS;
		victims += then && rank->host != host && is_failure(ending_of(rank));
	}
	return together->killed == 1 && !together->clean && victims + (count_alive(world) > 0) >= ENDS_VICTIMS && victims;
}

/* Then what ended there is not known. */
static bool is_anybody_unheard(const struct world *world, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->host_count; i++)
		if (world_is_silent(&world->hosts[i], now_ns) || world_is_awaited(&world->hosts[i], now_ns))
			return true;
	return false;
}

/* A collective concerns all members of its communicator, a transfer one other. */
static bool concerns(const struct world_flight *flight, int32_t comm_rank)
{
	return !job_place_is_transfer(flight) || flight->peer_or_root == comm_rank;
}

static bool is_awaited_by_dead(const struct world *world, const struct world_comm *comm,
			       const struct world_member *missing)
{
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_member *member = &comm->members[i];
		const struct world_rank *rank = &world->ranks[member->rank];
		const struct world_flight *flight = member != missing && world_is_dead(rank) ? waited_in(rank, member) : NULL;
		if (flight && concerns(flight, missing->comm_rank))
			return true;
	}
	return false;
}

/* All others failed while they waited, or its launcher asked them to end, and it had not come where another one waited
 * or waits. A launcher, or a watchdog, may have ended it for being the last. */
static bool is_missed(const struct world *world, const struct together *together, const bool *missing)
{
	const struct world_rank *rank = &world->ranks[together->absent_rank];
	bool by_launcher = together->asked && together->asked_host == rank->host;

	if (together->absent != 1 || together->failed + (by_launcher ? together->asked : 0) != together->count ||
	    together->count + count_alive(world) <= ENDS_VICTIMS)
		return false;
	if (missing[together->absent_rank])
		return true;
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		const struct world_comm *comm = world->comms[rank->memberships[i].comm];
		if (is_awaited_by_dead(world, comm, &comm->members[rank->memberships[i].member]))
			return true;
	}
	return false;
}

struct ends_first ends_find_first(const struct world *world, const bool *missing, uint64_t now_ns)
{
	struct together together = find_together(world, missing);
	struct ends_first first = { .rank = together.lowest, .confidence = RW_INCONCLUSIVE };

	if (!together.count)
		return (struct ends_first){ .rank = WORLD_NONE };
	if (together.count == 1 && together.next_ns != UINT64_MAX)
		first.before_ns = together.next_ns - together.first_ns;
	if (together.clean == together.count || (together.count == 1 && !together.failed)) {
		first.confidence = RW_CERTAIN;
	} else if (together.count == 1) {
		bool sure = stands_out(&together) && !is_anybody_unheard(world, now_ns);
		first.confidence = sure ? RW_CERTAIN : RW_INCONCLUSIVE;
	} else if (is_killed_first(world, &together)) {
		first.rank = together.killed_rank;
		first.confidence = RW_LIKELY;
	} else if (is_missed(world, &together, missing) && !is_anybody_unheard(world, now_ns)) {
		first.rank = together.absent_rank;
		first.missed = true;
	}
	return first;
}

bool ends_all(const struct world *world)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = &world->ranks[i];
		if (rank->host == WORLD_NONE)
			continue;
		known++;
		if (!world_is_dead(rank) || ending_of(rank) == ENDING_CLEAN)
			return false;
	}
	return known && world->world_size > 0 && known == (uint32_t)world->world_size;
}
