/* SPDX-License-Identifier: MIT */
#include "analysis/job/ends.h"

#include "analysis/known/ending.h"

/* The ranks that ended within ENDS_TOGETHER_NS of the first. */
struct together {
	uint64_t first_ns, next_ns, last_ns; /* when the first of them ended, and the first and last that are not of them;
					      * next_ns UINT64_MAX: none has */
	bool others_failed; /* of those that are not of them */
	uint32_t count, lowest;     /* rank */
	uint32_t clean, failed;     /* at the end of the program, and with an error */
	uint32_t killed, killed_rank; /* by the kernel, or by a signal of a crash: how many, and the last of them */
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

static void add(struct together *together, const struct world_rank *rank, uint32_t number)
{
	enum ending ending = ending_of(rank);

	together->lowest = together->count ? together->lowest : number;
	together->count++;
	together->clean += ending == ENDING_CLEAN;
	together->failed += is_failure(ending);
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
			add(&together, rank, i);
		else
			add_later(&together, rank);
	}
	return together;
}

/* A launcher may kill a host's other ranks once one of them has failed, or all ranks of the job; none kills a single rank
 * of another host. */
static bool is_killed_first(const struct world *world, const struct together *together)
{
	uint32_t host = world->ranks[together->killed_rank].host, victims = 0, alive = 0;

	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = &world->ranks[i];
		bool dead = world_is_dead(rank), then = dead && rank->life_ns <= together->first_ns + ENDS_TOGETHER_NS;
		alive += rank->told && !dead;
		victims += then && rank->host != host && is_failure(ending_of(rank));
	}
	return together->killed == 1 && !together->clean && victims + (alive > 0) >= ENDS_VICTIMS && victims;
}

/* Then what ended there is not known. */
static bool is_anybody_unheard(const struct world *world, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->host_count; i++)
		if (world_is_silent(&world->hosts[i], now_ns) || world_is_awaited(&world->hosts[i], now_ns))
			return true;
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
