/* SPDX-License-Identifier: MIT */
#include "analysis/measure/lost_time.h"

#include <stdlib.h>

/* The plugin's thread looks at the GPU every 2 to 20 ms: what it saw so much earlier was earlier. */
static const uint64_t sight_ns = 25000000;

enum { REPLAYED = UINT32_MAX };

/* One rank's operation in the stretch that is replayed. */
struct part {
	const struct operation *operation;
	uint32_t rank, instance;
	uint32_t before;      /* last event on its rank before it, + 1; 0 = none in the stretch */
	uint32_t first_after; /* of the parts that followed the end of this one, + 1 … */
	uint32_t next_after;  /* … and of those that followed the same as this */
	uint64_t earlier_ns;  /* so much earlier would the rank have arrived … */
	uint64_t released_ns; /* … and gone on; known once the instance is replayed */
};

/* An operation of a rank was over, or a late one has come: whatever the rank did next, on whatever stream, followed. */
struct event {
	uint64_t ns, ticket;
	uint32_t rank, part;
	bool over;
};

/* An instance follows what its ranks did before it, as each of them saw that: processes see their GPUs with delays of
 * their own, so the times of two do not tell which of two instances came first. */
struct stretch {
	const struct instance **instances; /* by start */
	uint32_t *first_part;              /* by instance, and the end */
	uint32_t *waits;                   /* by instance: parts that follow something not replayed yet; or REPLAYED */
	uint32_t *ready;                   /* instances that wait for nothing, in the order in which that came */
	struct part *parts;
	struct event *events; /* by rank and time */
	uint32_t instance_count, part_count, event_count, ready_count;
};

static int by_start(const void *left, const void *right)
{
	const struct instance *a = *(const struct instance *const *)left, *b = *(const struct instance *const *)right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* At the same moment a late arrival comes after what was over: it explains why nothing came in between. */
static int by_rank_and_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->rank != b->rank)
		return compare(a->rank, b->rank);
	if (a->ns != b->ns)
		return compare(a->ns, b->ns);
	return a->over != b->over ? b->over - a->over : compare(a->ticket, b->ticket);
}

static uint32_t operations_of(const struct instance *instance)
{
	uint32_t members = instance->communicator->member_count;
	return instance->room < members ? instance->room : members;
}

/* Boxes are read one after the other, so the last instances of a step finish among the first of the next. */
static bool is_older(const struct instance *instance, uint64_t first_step, uint64_t steps)
{
	return instance->place.place != STEPS_NO_PLACE && instance->place.step + steps < first_step;
}

static bool collect(struct stretch *stretch, const struct instances *instances, uint64_t first_step)
{
	size_t parts = 0;
	stretch->instances = malloc((instances->count + 1) * sizeof(const struct instance *));
	if (!stretch->instances)
		return false;
	for (const struct instance *at = instances->finished_last; at && !is_older(at, first_step, 1);
	     at = at->previous) {
		if (!at->judged || !at->start_ns || is_older(at, first_step, 0))
			continue;
		stretch->instances[stretch->instance_count++] = at;
		parts += operations_of(at);
	}
	qsort(stretch->instances, stretch->instance_count, sizeof(const struct instance *), by_start);
	stretch->first_part = malloc((stretch->instance_count + 1) * sizeof(*stretch->first_part));
	stretch->waits = calloc(stretch->instance_count + 1, sizeof(*stretch->waits));
	stretch->ready = malloc((stretch->instance_count + 1) * sizeof(*stretch->ready));
	stretch->parts = malloc((parts + 1) * sizeof(*stretch->parts));
	stretch->events = malloc((2 * parts + 1) * sizeof(*stretch->events));
	return stretch->first_part && stretch->waits && stretch->ready && stretch->parts && stretch->events;
}

static void add_part(struct stretch *stretch, const struct operation *operation, uint32_t rank, uint32_t instance,
		     bool late)
{
	struct event event = { .ticket = operation->ticket, .rank = rank, .part = stretch->part_count, .over = true };
	stretch->parts[stretch->part_count++] =
	    (struct part){ .operation = operation, .rank = rank, .instance = instance };
	/* Without GPU times it was over at the earliest when the last had come. */
	event.ns = operation->done_ns ? operation->done_ns : stretch->instances[instance]->start_ns;
	stretch->events[stretch->event_count++] = event;
	if (!late)
		return;
	event.ns = operation->arrival_ns;
	event.over = false;
	stretch->events[stretch->event_count++] = event;
}

static void add_parts(struct stretch *stretch, const bool *healed)
{
	for (uint32_t i = 0; i < stretch->instance_count; i++) {
		const struct instance *instance = stretch->instances[i];
		stretch->first_part[i] = stretch->part_count;
		for (uint32_t k = 0; k < operations_of(instance); k++) {
			const struct operation *operation = &instance->operations[k];
			uint32_t rank = instance->communicator->members[k].rank;
			if (operation->state & OPERATION_STARTED)
				add_part(stretch, operation, rank, i, healed[rank] && operation->late_us);
		}
	}
	stretch->first_part[stretch->instance_count] = stretch->part_count;
	qsort(stretch->events, stretch->event_count, sizeof(*stretch->events), by_rank_and_time);
}

/* How many events come before anything of this rank that is later than this moment. */
static uint32_t events_until(const struct stretch *stretch, uint32_t rank, uint64_t ns)
{
	uint32_t low = 0, high = stretch->event_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct event *event = &stretch->events[middle];
		if (event->rank < rank || (event->rank == rank && event->ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_before(const struct stretch *stretch, uint32_t event, const struct part *part)
{
	return stretch->events[event].rank == part->rank && stretch->events[event].ticket < part->operation->ticket;
}

/* An operation follows the last thing that happened on its rank before it came, of all that was called before it: what
 * was called later, as a receive ahead, is nothing that it can have waited for. */
static uint32_t last_before(const struct stretch *stretch, const struct part *part)
{
	uint32_t at = events_until(stretch, part->rank, part->operation->arrival_ns);
	while (at && stretch->events[at - 1].rank == part->rank && !is_before(stretch, at - 1, part))
		at--;
	return at && stretch->events[at - 1].rank == part->rank ? at : 0;
}

static uint64_t lateness_ns(const struct part *part, const bool *healed)
{
	return healed[part->rank] ? (uint64_t)part->operation->late_us * 1000 : 0;
}

/* Goes back over late arrivals, adding up their lateness, to the operation whose end was followed; with `replayed` to
 * one of which it is known what it won: of calls in a ring the first cannot wait for the last. NULL: none in the
 * stretch. */
static const struct part *go_back(const struct stretch *stretch, const struct part *part, const bool *healed,
				  bool replayed, uint64_t *late_ns)
{
	uint32_t at = part->before;
	*late_ns = lateness_ns(part, healed);
	while (at && stretch->events[at - 1].rank == part->rank) {
		const struct event *event = &stretch->events[at - 1];
		const struct part *before = &stretch->parts[event->part];
		if (!is_before(stretch, at - 1, part)) {
			at--;
		} else if (!event->over) {
			*late_ns += lateness_ns(before, healed);
			part = before;
			at = before->before;
		} else if (replayed && stretch->waits[before->instance] != REPLAYED) {
			at--;
		} else {
			return before;
		}
	}
	return NULL;
}

static void link_parts(struct stretch *stretch, const bool *healed)
{
	uint64_t late_ns;
	for (uint32_t i = 0; i < stretch->part_count; i++)
		stretch->parts[i].before = last_before(stretch, &stretch->parts[i]);
	for (uint32_t i = 0; i < stretch->part_count; i++) {
		struct part *part = &stretch->parts[i];
		const struct part *followed = go_back(stretch, part, healed, false, &late_ns);
		if (!followed)
			continue;
		struct part *before = &stretch->parts[followed - stretch->parts];
		part->next_after = before->first_after;
		before->first_after = i + 1;
		stretch->waits[part->instance]++;
	}
	for (uint32_t i = 0; i < stretch->instance_count; i++)
		if (!stretch->waits[i])
			stretch->ready[stretch->ready_count++] = i;
}

static uint64_t earlier(const struct stretch *stretch, const struct part *part, const bool *healed)
{
	uint64_t late_ns;
	const struct part *before = go_back(stretch, part, healed, true, &late_ns);
	return late_ns + (before ? before->released_ns : 0);
}

/* The instance starts when the last rank has come; from there on all who waited for that share what was won. Who was
 * through before (sent what fitted a buffer) keeps its own. */
static void replay_one(struct stretch *stretch, uint32_t at, const bool *healed)
{
	uint64_t start_ns = stretch->instances[at]->start_ns, last_ns = 0;
	for (uint32_t i = stretch->first_part[at]; i < stretch->first_part[at + 1]; i++) {
		struct part *part = &stretch->parts[i];
		uint64_t arrival_ns = part->operation->arrival_ns;
		part->earlier_ns = earlier(stretch, part, healed);
		arrival_ns -= part->earlier_ns < arrival_ns ? part->earlier_ns : arrival_ns;
		last_ns = arrival_ns > last_ns ? arrival_ns : last_ns;
	}
	uint64_t won_ns = start_ns > last_ns ? start_ns - last_ns : 0;
	for (uint32_t i = stretch->first_part[at]; i < stretch->first_part[at + 1]; i++) {
		struct part *part = &stretch->parts[i];
		bool waited = !part->operation->done_ns || part->operation->done_ns + sight_ns >= start_ns;
		part->released_ns = waited ? won_ns : part->earlier_ns;
	}
}

static void release_followers(struct stretch *stretch, uint32_t at)
{
	for (uint32_t i = stretch->first_part[at]; i < stretch->first_part[at + 1]; i++) {
		for (uint32_t after = stretch->parts[i].first_after; after;
		     after = stretch->parts[after - 1].next_after) {
			uint32_t instance = stretch->parts[after - 1].instance;
			if (stretch->waits[instance] != REPLAYED && !--stretch->waits[instance])
				stretch->ready[stretch->ready_count++] = instance;
		}
	}
}

static void replay_and_release(struct stretch *stretch, uint32_t at, const bool *healed)
{
	stretch->waits[at] = REPLAYED;
	replay_one(stretch, at, healed);
	release_followers(stretch, at);
}

/* Calls of a group may wait for each other in a ring: the one that started first goes first. */
static void replay(struct stretch *stretch, const bool *healed)
{
	uint32_t taken = 0, earliest = 0;
	add_parts(stretch, healed);
	link_parts(stretch, healed);
	for (;;) {
		while (taken < stretch->ready_count)
			replay_and_release(stretch, stretch->ready[taken++], healed);
		while (earliest < stretch->instance_count && stretch->waits[earliest] == REPLAYED)
			earliest++;
		if (earliest == stretch->instance_count)
			return;
		replay_and_release(stretch, earliest, healed);
	}
}

/* What a rank has won in the end is what its last operation has won. */
static uint64_t most_won(const struct stretch *stretch)
{
	uint64_t most_ns = 0;
	for (uint32_t i = 0; i < stretch->event_count; i++) {
		const struct event *event = &stretch->events[i];
		bool last = i + 1 == stretch->event_count || stretch->events[i + 1].rank != event->rank;
		uint64_t won_ns = stretch->parts[event->part].released_ns;
		most_ns = last && won_ns > most_ns ? won_ns : most_ns;
	}
	return most_ns;
}

/* No replay wins more than there was lateness. */
static uint64_t all_lateness(const struct stretch *stretch, const bool *healed)
{
	uint64_t late_ns = 0;
	for (uint32_t i = 0; i < stretch->part_count; i++)
		if (healed[stretch->parts[i].rank])
			late_ns += (uint64_t)stretch->parts[i].operation->late_us * 1000;
	return late_ns;
}

uint64_t lost_time_replay(const struct instances *instances, uint64_t first_step, const bool *healed)
{
	struct stretch stretch = { 0 };
	uint64_t won_ns = 0;
	if (collect(&stretch, instances, first_step)) {
		replay(&stretch, healed);
		uint64_t late_ns = all_lateness(&stretch, healed);
		won_ns = most_won(&stretch);
		won_ns = late_ns < won_ns ? late_ns : won_ns;
	}
	free(stretch.instances);
	free(stretch.first_part);
	free(stretch.waits);
	free(stretch.ready);
	free(stretch.parts);
	free(stretch.events);
	return won_ns;
}
