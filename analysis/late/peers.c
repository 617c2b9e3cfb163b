/* SPDX-License-Identifier: MIT */
#include "analysis/late/peers.h"

#include <stdlib.h>

#include "analysis/numbers/sorting.h"
#include "analysis/late/straggler.h"

enum {
	AS_LATE = 2, /* half as late as another is as late */
	TOGETHER = 8, /* ranks that are added up as one */
};

struct level {
	uint64_t ns;
	uint32_t rank, host, group;
};

/* All ranks, by what they were late by over one number of steps. */
struct standing {
	struct level *order; /* those without an open finding, group by group, the latest of each last … */
	uint32_t count;
	struct level *by_host; /* … and all of them, in each group host by host */
	struct peers_seen *sums[EXCURSION_LENGTHS]; /* of the first 0, TOGETHER, 2 × TOGETHER … in order; NULL nobody
						     * has asked yet */
};

static int by_ns(const void *left, const void *right)
{
	const struct level *a = left, *b = right;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_group_and_ns(const void *left, const void *right)
{
	const struct level *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return by_ns(left, right);
}

static int by_group_host_and_ns(const void *left, const void *right)
{
	const struct level *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return by_ns(left, right);
}

struct peers peers_in(const struct stragglers *stragglers, uint64_t step)
{
	return (struct peers){ .stragglers = stragglers,
			       .step = step,
			       .step_ns = pace_step_ns(&stragglers->pace, PACE_USUAL) };
}

static void free_standing(struct standing *standing)
{
	if (!standing)
		return;
	for (uint32_t i = 0; i < EXCURSION_LENGTHS; i++)
		free(standing->sums[i]);
	free(standing->order);
	free(standing->by_host);
	free(standing);
}

void peers_forget(struct peers *peers)
{
	for (uint32_t i = 0; i <= PEERS_LENGTH_MAX; i++) {
		free(peers->levels[i]);
		free_standing(peers->standings[i]);
		peers->levels[i] = NULL;
		peers->standings[i] = NULL;
	}
	free(peers->recent);
	peers->recent = NULL;
	peers->incomplete = false;
}

static const uint64_t *levels_over(struct peers *peers, uint32_t length)
{
	uint32_t count = peers->stragglers->suspect_count;

	if (peers->levels[length])
		return peers->levels[length];
	uint64_t *levels = malloc((count + 1) * sizeof(*levels));
	for (uint32_t i = 0; levels && i < count; i++)
		levels[i] =
		    excursions_level_ns(peers->stragglers, &peers->stragglers->suspects[i], peers->step, length);
	return peers->levels[length] = levels;
}

static bool sort_all(struct standing *standing, const struct stragglers *stragglers, const uint64_t *levels)
{
	uint32_t count = stragglers->suspect_count;

	standing->order = malloc((count + 1) * sizeof(*standing->order));
	standing->by_host = malloc((count + 1) * sizeof(*standing->by_host));
	if (!standing->order || !standing->by_host)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct suspect *suspect = &stragglers->suspects[i];
		struct level level = { .ns = levels[i], .rank = i, .host = suspect->host, .group = suspect->group };
		standing->by_host[i] = level;
		if (!suspect->open)
			standing->order[standing->count++] = level;
	}
	qsort(standing->order, standing->count, sizeof(*standing->order), by_group_and_ns);
	qsort(standing->by_host, count, sizeof(*standing->by_host), by_group_host_and_ns);
	return true;
}

static struct standing *standing_over(struct peers *peers, uint32_t length)
{
	if (peers->standings[length])
		return peers->standings[length];
	const uint64_t *levels = levels_over(peers, length);
	struct standing *standing = levels ? calloc(1, sizeof(*standing)) : NULL;
	if (standing && !sort_all(standing, peers->stragglers, levels)) {
		free_standing(standing);
		standing = NULL;
	}
	peers->incomplete = peers->incomplete || !standing;
	return peers->standings[length] = standing;
}

/* How many of them are not as late; they come first. */
static uint32_t count_in_time(const struct level *levels, uint32_t count, uint64_t least_ns)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (levels[middle].ns * AS_LATE < least_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t group_of(const struct level *level)
{
	return level->group;
}

static uint32_t host_of(const struct level *level)
{
	return level->host;
}

/* Where those begin whose group, or host, is this one or a later one: they are sorted by it. */
static uint32_t first_from(const struct level *levels, uint32_t count, uint32_t (*key)(const struct level *level),
			   uint64_t wanted)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (key(&levels[middle]) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One group of an array that is sorted by groups. */
struct slice {
	const struct level *levels;
	uint32_t first, count;
};

static struct slice slice_of(const struct level *levels, uint32_t count, uint32_t group)
{
	uint32_t first = first_from(levels, count, group_of, group);

	return (struct slice){ &levels[first], first,
			       first_from(levels, count, group_of, (uint64_t)group + 1) - first };
}

/* Of a group that is sorted by hosts. */
static struct slice mates_on(const struct slice *group, uint32_t host)
{
	uint32_t first = first_from(group->levels, group->count, host_of, host);

	return (struct slice){ &group->levels[first], group->first + first,
			       first_from(group->levels, group->count, host_of, (uint64_t)host + 1) - first };
}

/* Of these, how many have no open finding. */
static uint32_t count_unopened(const struct stragglers *stragglers, const struct level *levels, uint32_t count)
{
	uint32_t unopened = 0;

	for (uint32_t i = 0; i < count; i++)
		unopened += !stragglers->suspects[levels[i].rank].open;
	return unopened;
}

bool peers_choose(struct peers *peers, const struct suspect *suspect, uint32_t length, uint64_t least_ns,
		  struct chosen_peers *chosen)
{
	const struct standing *standing = standing_over(peers, length);

	*chosen = (struct chosen_peers){ .length = length };
	if (!standing)
		return false;
	struct slice order = slice_of(standing->order, standing->count, suspect->group),
		     all = slice_of(standing->by_host, peers->stragglers->suspect_count, suspect->group);
	uint32_t ranks = count_in_time(order.levels, order.count, least_ns);
	uint32_t as_late = order.count - ranks - !suspect->open; /* it is so itself */
	struct slice host = mates_on(&all, suspect->host);
	uint32_t mates = host.count, late_mates = mates - count_in_time(host.levels, mates, least_ns);

	*chosen = (struct chosen_peers){ .length = length, .first = order.first, .ranks = ranks, .units = ranks,
					.alone = all.count == 1 };
	if (late_mates * 2 > mates)
		chosen->units = ranks / mates;
	if (as_late * EXCURSION_PART <= all.count)
		return ranks > 0;
	if (late_mates < mates || mates < 2)
		return false;
	/* Those of other hosts. Ranks of this one whose findings are open already are not among as_late. */
	uint32_t elsewhere = as_late + !suspect->open - count_unopened(peers->stragglers, host.levels, mates);
	return elsewhere * EXCURSION_PART <= all.count - mates && ranks > 0;
}

void peers_seen_add(struct peers_seen *sum, const struct excursions *more)
{
	sum->steps += (double)more->steps;
	sum->sum += (double)more->sum;
	sum->squares += (double)more->squares;
	sum->fourths += (double)more->fourths;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		sum->pairs[i] += (double)more->pairs[i];
		sum->products[i] += (double)more->products[i];
	}
}

/* What this rank did so far, and what it does now. */
static void add_rank(const struct peers *peers, uint32_t rank, uint32_t with, const uint64_t *levels,
		     struct peers_seen *sum)
{
	const struct excursions *own = &peers->stragglers->suspects[rank].excursions;

	peers_seen_add(sum, own);
	for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
		sum->sizes[k] += own->sizes[with][k];
	sum->sizes[excursions_size(excursions_beyond_tolerance(levels[rank], peers->step_ns))]++;
}

static const struct peers_seen *sums_of(const struct peers *peers, struct standing *standing, uint32_t with,
					const uint64_t *levels)
{
	if (standing->sums[with])
		return standing->sums[with];
	struct peers_seen *sums = malloc((standing->count / TOGETHER + 1) * sizeof(*sums));
	struct peers_seen sum = { 0 };
	for (uint32_t i = 0; sums && i <= standing->count; i++) {
		if (i % TOGETHER == 0)
			sums[i / TOGETHER] = sum;
		if (i < standing->count)
			add_rank(peers, standing->order[i].rank, with, levels, &sum);
	}
	return standing->sums[with] = sums;
}

/* Of the first so many in order. */
static struct peers_seen first_of_all(const struct peers *peers, const struct standing *standing,
				      const struct peers_seen *sums, uint32_t with, const uint64_t *levels,
				      uint32_t count)
{
	struct peers_seen seen = sums[count / TOGETHER];

	for (uint32_t i = count / TOGETHER * TOGETHER; i < count; i++)
		add_rank(peers, standing->order[i].rank, with, levels, &seen);
	return seen;
}

static void take_off(struct peers_seen *sum, const struct peers_seen *less)
{
	sum->steps -= less->steps;
	sum->sum -= less->sum;
	sum->squares -= less->squares;
	sum->fourths -= less->fourths;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		sum->pairs[i] -= less->pairs[i];
		sum->products[i] -= less->products[i];
	}
	for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
		sum->sizes[k] -= less->sizes[k];
}

struct peers_seen peers_add_up(struct peers *peers, const struct chosen_peers *chosen, uint32_t with)
{
	struct standing *standing = standing_over(peers, chosen->length);
	const uint64_t *levels = levels_over(peers, excursions_lengths[with]);
	const struct peers_seen *sums = standing && levels ? sums_of(peers, standing, with, levels) : NULL;
	struct peers_seen seen = { 0 };

	if (!sums) {
		peers->incomplete = true;
		return seen;
	}
	seen = first_of_all(peers, standing, sums, with, levels, chosen->first + chosen->ranks);
	if (chosen->first) {
		struct peers_seen before = first_of_all(peers, standing, sums, with, levels, chosen->first);
		take_off(&seen, &before);
	}
	return seen;
}

static bool is_near(uint64_t late_ns, uint64_t least_ns)
{
	return late_ns * EXCURSION_STRIKING > least_ns;
}

static uint64_t recent_steps(const struct peers *peers)
{
	uint64_t steps = peers->step - peers->stragglers->first_step + 1;

	return steps < EXCURSION_STRIKING_STEPS ? steps : EXCURSION_STRIKING_STEPS;
}

static bool gather_recent(struct peers *peers, uint64_t limit_ns)
{
	const struct stragglers *stragglers = peers->stragglers;
	uint64_t steps = recent_steps(peers);

	peers->recent = malloc((stragglers->suspect_count * steps + 1) * sizeof(*peers->recent));
	peers->recent_limit_ns = limit_ns;
	peers->recent_count = 0;
	for (uint32_t i = 0; peers->recent && i < stragglers->suspect_count; i++)
		for (uint64_t back = 0; back < steps; back++) {
			uint64_t late_ns = suspect_shown_ns(&stragglers->suspects[i], peers->step - back);
			if (is_near(late_ns, limit_ns))
				peers->recent[peers->recent_count++] = late_ns;
		}
	if (peers->recent)
		sort_u64(peers->recent, peers->recent_count);
	return peers->recent;
}

static uint64_t near_of(const struct peers *peers, const struct suspect *suspect, uint64_t least_ns)
{
	uint64_t near = 0;

	for (uint64_t back = 0; back < recent_steps(peers); back++)
		near += is_near(suspect_shown_ns(suspect, peers->step - back), least_ns);
	return near;
}

/* The ranks of its group and host that are no others to it: where all are as late, the host may be at fault. Where the
 * group has no other host, it is what the job does. */
static struct slice as_late_together(struct peers *peers, const struct suspect *suspect, uint64_t least_ns)
{
	const struct standing *standing = standing_over(peers, EXCURSION_ROW_MIN);

	if (!standing)
		return (struct slice){ 0 };
	struct slice all = slice_of(standing->by_host, peers->stragglers->suspect_count, suspect->group),
		     mates = mates_on(&all, suspect->host);
	bool others = mates.count == all.count || count_in_time(mates.levels, mates.count, least_ns);
	return others ? (struct slice){ 0 } : mates;
}

uint64_t peers_near(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns, uint64_t least_ns,
		    uint64_t *all)
{
	*all = (peers->stragglers->suspect_count - 1) * recent_steps(peers);
	if (peers->recent && peers->recent_limit_ns != limit_ns) {
		free(peers->recent);
		peers->recent = NULL;
	}
	if (!peers->recent && !gather_recent(peers, limit_ns))
		return *all;
	size_t low = 0, high = peers->recent_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (is_near(peers->recent[middle], least_ns))
			high = middle;
		else
			low = middle + 1;
	}
	uint64_t near = peers->recent_count - low - near_of(peers, suspect, least_ns);
	struct slice mates = as_late_together(peers, suspect, least_ns);
	for (uint32_t i = 0; i < mates.count; i++) {
		const struct suspect *mate = &peers->stragglers->suspects[mates.levels[i].rank];
		if (mate == suspect)
			continue;
		near -= near_of(peers, mate, least_ns);
		*all -= recent_steps(peers);
	}
	return near;
}
