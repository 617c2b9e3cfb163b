/* SPDX-License-Identifier: MIT */
#include "analysis/hang/gatherings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/known/process.h"
#include "analysis/numbers/sorting.h"
#include "analysis/measure/waiting.h"

enum {
	WORLD_MAX = 1 << 20,
	MISSING_MAX = 1 << 20, /* of all gatherings together */
	ORDER_LEAST = 2,  /* as many must have come for their order to be seen … */
	STRIDE_LEAST = 3, /* … and for equal distances not to be chance */
};

static bool is_in_init(const struct process *process)
{
	return process->init.since_ns && process->world_rank >= 0 &&
	       process->world_size <= WORLD_MAX && process->world_rank < process->world_size &&
	       process->init.nranks <= process->world_size;
}

static int by_init_and_rank(const void *a, const void *b)
{
	const struct comer *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

const struct member *gatherings_parent(const struct process *process, const struct communicator **parent)
{
	for (uint32_t i = 0; process->init.parent && i < process->membership_count; i++) {
		const struct membership *membership = &process->memberships[i];
		const struct member *member = job_member_of(membership);
		if (!member || membership->communicator->id != process->init.parent ||
		    member->comm_rank != process->init.rank || member->ended)
			continue;
		*parent = membership->communicator;
		return member;
	}
	return NULL;
}

static struct comer comer_of(const struct process *process, uint32_t index)
{
	struct comer comer = { .id = process->init.id,
			       .since_ns = process->init.since_ns,
			       .rank = process->init.rank,
			       .size = process->init.nranks,
			       .world_rank = process->world_rank,
			       .world_size = process->world_size,
			       .index = index,
			       .split = process->init.parent != 0,
			       .call = process->init.call };
	const struct member *member = gatherings_parent(process, &comer.parent);

	comer.unclear = comer.split && !member;
	comer.splits = member ? member->splits : 0;
	return comer;
}

/* Where nobody lives any more, those count who waited when they ended. */
static uint32_t collect(struct comer *comers, const struct job *job, bool ended_too)
{
	uint32_t count = 0;
	bool lives = false;

	for (uint32_t i = 0; i < job->process_count; i++)
		lives |= is_in_init(job->processes[i]) && job->processes[i]->life == ANALYSIS_ALIVE;
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		bool counts = lives ? process->life == ANALYSIS_ALIVE : ended_too && process_is_dead(process);
		if (counts && is_in_init(process))
			comers[count++] = comer_of(process, i);
	}
	return count;
}

/* One rank is one process, and all say the same of the communicator. */
static bool is_consistent(const struct comer *comers, uint32_t count, const int32_t *present)
{
	for (uint32_t i = 1; i < count; i++)
		if (comers[i].rank == comers[i - 1].rank || present[i] == present[i - 1] ||
		    comers[i].size != comers[0].size || comers[i].world_size != comers[0].world_size ||
		    comers[i].call != comers[0].call || comers[i].split != comers[0].split ||
		    comers[i].parent != comers[0].parent)
			return false;
	return !comers[0].unclear;
}

static int by_number(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static bool is_among(const int32_t *ranks, uint32_t count, int32_t rank)
{
	return bsearch(&rank, ranks, count, sizeof(*ranks), by_number) != NULL;
}

static uint32_t add_rest_of_world(const struct gathering *gathering, int32_t *missing)
{
	uint32_t at = 0, count = 0;

	for (int32_t rank = 0; rank < gathering->size; rank++) {
		if (at < gathering->present_count && gathering->present[at] == rank)
			at++;
		else
			missing[count++] = rank;
	}
	return count;
}

/* Where the ranks that have come lie in the world. */
struct order {
	const struct comer *comers;
	uint32_t count;
	int32_t world_size, size;
	int64_t stride, origin; /* all of them are at origin + stride * rank; stride 0: they are not, or are too few */
};

/* Before the first and behind the last of them lie the ends of the world. */
static int32_t rank_at(const struct order *order, uint32_t at)
{
	return at == 0 ? -1 : at > order->count ? order->size : order->comers[at - 1].rank;
}

static int32_t world_at(const struct order *order, uint32_t at)
{
	return at == 0 ? -1 : at > order->count ? order->world_size : order->comers[at - 1].world_rank;
}

/* Frameworks number the ranks of a group as the world does. False: here they are not, or too few have come to show
 * it. */
static bool is_in_order(const struct order *order)
{
	for (uint32_t at = 1; at <= order->count + 1; at++)
		if (world_at(order, at) - world_at(order, at - 1) < rank_at(order, at) - rank_at(order, at - 1))
			return false;
	return order->count >= ORDER_LEAST;
}

/* The ranks of a group along one dimension of a mesh lie at equal distances. */
static void find_stride(struct order *order)
{
	int32_t rank = rank_at(order, 1), world = world_at(order, 1);
	int64_t stride = (world_at(order, order->count) - world) / (rank_at(order, order->count) - rank);

	for (uint32_t at = 2; at <= order->count; at++)
		if (world_at(order, at) - world != stride * (rank_at(order, at) - rank))
			return;
	if (order->count < STRIDE_LEAST)
		return;
	order->stride = stride;
	order->origin = world - stride * rank;
}

/* The missing ranks in front of the one at `at`: as many as the world has there, or those at their distance. */
static uint32_t add_in_front(const struct order *order, uint32_t at, int32_t *missing)
{
	int32_t rank = rank_at(order, at - 1), world = world_at(order, at - 1), next = world_at(order, at);
	bool all = next - world == rank_at(order, at) - rank;
	uint32_t count = 0;

	for (int32_t i = rank + 1; i < rank_at(order, at); i++) {
		int64_t found = all ? world + i - rank : order->origin + order->stride * i;

		if ((all || order->stride) && found > world && found < next)
			missing[count++] = (int32_t)found;
	}
	return count;
}

static uint32_t add_by_order(const struct gathering *gathering, const struct comer *comers, int32_t *missing)
{
	struct order order = { .comers = comers, .count = gathering->present_count,
			       .world_size = comers->world_size, .size = gathering->size };
	uint32_t count = 0;

	if (!is_in_order(&order))
		return 0;
	find_stride(&order);
	for (uint32_t at = 1; at <= order.count + 1; at++)
		count += add_in_front(&order, at, missing + count);
	return count;
}

/* A rank that has been through this split proves that all have come to it: what the others wait for is no rank that is
 * missing there. */
static bool has_been_there(const struct member *member, const struct comer *comers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (member->splits > comers[i].splits)
			return true;
	return false;
}

static bool has_process(const struct job *job, int32_t world_rank)
{
	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i]->world_rank == world_rank)
			return true;
	return false;
}

/* Ranks of the parent that were not seen; where that is the whole world they are known all the same. False: one was
 * seen, and it is not known whether it has come. */
static bool add_unseen(const struct gathering *gathering, int32_t *missing, uint32_t *count)
{
	uint32_t seen = *count;

	for (int32_t rank = 0; rank < gathering->size; rank++) {
		if (is_among(gathering->present, gathering->present_count, rank) || is_among(missing, seen, rank))
			continue;
		if (*count == (uint32_t)gathering->size ||
		    has_process(gathering->parent->members->process->of_job, rank))
			return false;
		missing[(*count)++] = rank;
	}
	sort_i32(missing, *count);
	return true;
}

/* Those of the parent that have not come. False: all have, or of some it is not known. */
static bool add_rest_of_parent(const struct gathering *gathering, const struct comer *comers, int32_t *missing,
			       uint32_t *count)
{
	const struct communicator *parent = gathering->parent;

	for (uint32_t i = 0; i < parent->member_count; i++) {
		const struct member *member = &parent->members[i];
		int32_t rank = member->process->world_rank;
		if (is_among(gathering->present, gathering->present_count, rank))
			continue;
		if (rank < 0 || !member->splits || has_been_there(member, comers, gathering->present_count) ||
		    *count == (uint32_t)gathering->size)
			return false;
		missing[(*count)++] = rank;
	}
	sort_i32(missing, *count);
	return gathering->size != comers->world_size || add_unseen(gathering, missing, count);
}

/* False: nobody is missing, or nothing can be said of it. */
static bool gather(struct gathering *gathering, const struct comer *comers, uint32_t count, int32_t *present,
		   int32_t *missing)
{
	*gathering = (struct gathering){ .id = comers->id, .size = comers->size, .present_count = count,
					 .present = present, .missing = missing, .begun_ns = UINT64_MAX };
	for (uint32_t i = 0; i < count; i++) {
		present[i] = comers[i].world_rank;
		if (comers[i].since_ns < gathering->begun_ns) {
			gathering->begun_ns = comers[i].since_ns;
			gathering->first = comers[i].index;
		}
		if (comers[i].since_ns > gathering->since_ns)
			gathering->since_ns = comers[i].since_ns;
	}
	sort_i32(present, count);
	if (count >= (uint32_t)gathering->size || !is_consistent(comers, count, present) ||
	    comers->call == RW_INIT_CALL_JOIN)
		return false;
	gathering->early = (uint32_t)gathering->size - count > count;
	gathering->call = comers->call;
	gathering->split = comers->split;
	gathering->parent = comers->parent;
	gathering->certain = gathering->parent || gathering->size == comers->world_size;
	if (gathering->parent)
		return add_rest_of_parent(gathering, comers, missing, &gathering->missing_count);
	/* Whom a communicator grows by is known where it grows to the whole world. */
	if (gathering->certain)
		gathering->missing_count = add_rest_of_world(gathering, missing);
	else if (gathering->call != RW_INIT_CALL_GROW)
		gathering->missing_count = add_by_order(gathering, comers, missing);
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct gathering *left = a, *right = b;

	if (left->begun_ns != right->begun_ns)
		return left->begun_ns < right->begun_ns ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

/* How many of these have come to the same init as the first one. */
static uint32_t alike(const struct comer *comers, uint32_t count)
{
	uint32_t same = 1;

	while (same < count && comers[same].id == comers[0].id)
		same++;
	return same;
}

/* How many ranks can be missing in all gatherings that are looked at. */
static uint32_t missing_room(const struct comer *comers, uint32_t count)
{
	uint64_t room = 1;

	for (uint32_t from = 0; from < count; from += alike(comers + from, count - from))
		room += (uint64_t)comers[from].size;
	return room < MISSING_MAX ? (uint32_t)room : MISSING_MAX;
}

static void gather_all(struct gatherings *gatherings, const struct comer *comers, uint32_t count, uint32_t room)
{
	uint32_t used = 0;

	for (uint32_t from = 0; from < count; from += alike(comers + from, count - from)) {
		struct gathering *gathering = &gatherings->items[gatherings->count];
		uint32_t size = (uint32_t)comers[from].size;
		if (size > room - used || !gather(gathering, comers + from, alike(comers + from, count - from),
						  gatherings->present + from, gatherings->missing + used))
			continue;
		used += gathering->missing_count;
		gatherings->count++;
	}
	if (gatherings->count)
		qsort(gatherings->items, gatherings->count, sizeof(*gatherings->items), by_begin);
}

int gatherings_find(struct gatherings *gatherings, struct comer *comers, uint32_t count)
{
	uint32_t room = count + 1;

	if (count)
		qsort(comers, count, sizeof(*comers), by_init_and_rank);
	uint32_t missing = missing_room(comers, count);
	*gatherings = (struct gatherings){ .items = malloc(room * sizeof(*gatherings->items)),
					   .present = malloc(room * sizeof(*gatherings->present)),
					   .missing = malloc(missing * sizeof(*gatherings->missing)),
					   .waiting = malloc(room * sizeof(*gatherings->waiting)) };
	if (!gatherings->items || !gatherings->present || !gatherings->missing || !gatherings->waiting) {
		gatherings_free(gatherings);
		return -ENOMEM;
	}
	gather_all(gatherings, comers, count, missing);
	for (uint32_t i = 0; i < count; i++)
		gatherings->waiting[gatherings->waiting_count++] = comers[i].world_rank;
	sort_i32(gatherings->waiting, gatherings->waiting_count);
	return 0;
}

int gatherings_add_waiting(struct gatherings *gatherings, const int32_t *world_ranks, uint32_t count)
{
	uint32_t all = gatherings->waiting_count + count;
	int32_t *waiting = realloc(gatherings->waiting, (all + 1) * sizeof(*waiting));

	if (!waiting)
		return -ENOMEM;
	memcpy(waiting + gatherings->waiting_count, world_ranks, count * sizeof(*waiting));
	sort_i32(waiting, all);
	gatherings->waiting = waiting;
	gatherings->waiting_count = all;
	return 0;
}

static int add_operations(struct gatherings *gatherings, const struct job *job)
{
	struct waiting waiting;
	int32_t *ranks = malloc((job->rank_count + 1) * sizeof(*ranks));
	uint32_t count = 0;
	int err = ranks ? waiting_look(&waiting, job) : -ENOMEM;

	for (uint32_t i = 0; !err && i < job->rank_count; i++)
		if (waiting.blocked[i] && job->ranks[i].process->life == ANALYSIS_ALIVE &&
		    job->ranks[i].process->world_rank >= 0)
			ranks[count++] = job->ranks[i].process->world_rank;
	if (!err) {
		waiting_free(&waiting);
		err = gatherings_add_waiting(gatherings, ranks, count);
	}
	free(ranks);
	return err;
}

int gatherings_look(struct gatherings *gatherings, const struct job *job, bool ended_too)
{
	struct comer *comers = malloc((job->process_count + 1) * sizeof(*comers));

	*gatherings = (struct gatherings){ 0 };
	int err = comers ? gatherings_find(gatherings, comers, collect(comers, job, ended_too)) : -ENOMEM;
	free(comers);
	if (!err && gatherings->count && (err = add_operations(gatherings, job)))
		gatherings_free(gatherings);
	return err;
}

void gatherings_free(struct gatherings *gatherings)
{
	free(gatherings->items);
	free(gatherings->present);
	free(gatherings->missing);
	free(gatherings->waiting);
	*gatherings = (struct gatherings){ 0 };
}

bool gatherings_waits(const struct gatherings *gatherings, int32_t world_rank)
{
	return is_among(gatherings->waiting, gatherings->waiting_count, world_rank);
}

const struct gathering *gatherings_without(const struct gatherings *gatherings, int32_t world_rank)
{
	for (uint32_t i = 0; i < gatherings->count; i++)
		if (!gatherings->items[i].early &&
		    is_among(gatherings->items[i].missing, gatherings->items[i].missing_count, world_rank))
			return &gatherings->items[i];
	return NULL;
}

const struct gathering *gatherings_of(const struct gatherings *gatherings, uint64_t id)
{
	for (uint32_t i = 0; i < gatherings->count; i++)
		if (gatherings->items[i].id == id)
			return &gatherings->items[i];
	return NULL;
}
