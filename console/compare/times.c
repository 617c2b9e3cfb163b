/* SPDX-License-Identifier: MIT */
#include "console/compare/times.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/compare/rank_sum.h"

struct times_instance {
	uint32_t kind; /* + 1; 0 free */
	int32_t peer;
	uint64_t sequence;
	float ms[TIMES_SIDES]; /* of the shortest rank; < 0 none */
};

static bool is_of(const struct times_kind *kind, const struct side_line *line, const struct rw_operation *operation)
{
	return kind->function == operation->function && kind->dtype == operation->dtype &&
	       kind->count == operation->count && !strcmp(kind->where, line->name);
}

/* Returns its number, -1 on lack of memory. */
static long find_kind(struct times *times, const struct side_line *line, const struct rw_operation *operation)
{
	for (size_t i = 0; i < times->kind_count; i++)
		if (is_of(&times->kinds[i], line, operation))
			return (long)i;
	if (times->kind_count == times->kind_room) {
		size_t room = times->kind_room ? 2 * times->kind_room : 16;
		struct times_kind *kinds = reallocarray(times->kinds, room, sizeof(*kinds));

		if (!kinds)
			return -1;
		times->kinds = kinds;
		times->kind_room = room;
	}
	char *where = strdup(line->name);

	if (!where)
		return -1;
	times->kinds[times->kind_count] = (struct times_kind){
		.where = where, .function = operation->function, .dtype = operation->dtype, .count = operation->count
	};
	return (long)times->kind_count++;
}

static size_t place_of(const struct times *times, uint32_t kind, int32_t peer, uint64_t sequence)
{
	uint64_t hash = (sequence * 0x9e3779b97f4a7c15u) ^ ((uint64_t)kind << 32 | (uint32_t)peer);

	hash = (hash ^ hash >> 31) * 0xbf58476d1ce4e5b9u;
	return (size_t)(hash >> 20) & (times->instance_room - 1);
}

static struct times_instance *find_instance(const struct times *times, uint32_t kind, int32_t peer, uint64_t sequence)
{
	size_t at = place_of(times, kind, peer, sequence);

	while (times->instances[at].kind && (times->instances[at].kind != kind || times->instances[at].peer != peer ||
					     times->instances[at].sequence != sequence))
		at = (at + 1) & (times->instance_room - 1);
	return &times->instances[at];
}

static int make_room(struct times *times)
{
	struct times larger = *times;

	if (times->instance_count * 2 < times->instance_room)
		return 0;
	larger.instance_room = times->instance_room ? 2 * times->instance_room : 4096;
	larger.instances = calloc(larger.instance_room, sizeof(*larger.instances));
	if (!larger.instances)
		return -ENOMEM;
	for (size_t i = 0; i < times->instance_room; i++) {
		const struct times_instance *instance = &times->instances[i];

		if (instance->kind)
			*find_instance(&larger, instance->kind, instance->peer, instance->sequence) = *instance;
	}
	free(times->instances);
	*times = larger;
	return 0;
}

static bool has_time(const struct rw_operation *operation)
{
	return operation->known & RW_KNOWN_STARTED && operation->known & RW_KNOWN_DONE &&
	       operation->done_seen_ns > operation->started_seen_ns &&
	       !(operation->flags & (RW_FLAG_UNTRACKED | RW_FLAG_ABORTED | RW_FLAG_PROGRESS_SAMPLED_OUT));
}

int times_add(struct times *times, enum times_side side, const struct side_line *line,
	      const struct rw_operation *operation)
{
	bool pair = operation->function == RW_FUNCTION_SEND || operation->function == RW_FUNCTION_RECV;
	int32_t peer = pair ? operation->root_or_peer : -1;

	if (!has_time(operation))
		return 0;
	long kind = find_kind(times, line, operation);

	if (kind < 0 || make_room(times))
		return -ENOMEM;
	struct times_instance *instance = find_instance(times, (uint32_t)kind + 1, peer, operation->sequence);
	float ms = (float)((double)(operation->done_seen_ns - operation->started_seen_ns) / 1e6);

	if (!instance->kind) {
		*instance = (struct times_instance){ (uint32_t)kind + 1, peer, operation->sequence, { -1, -1 } };
		times->instance_count++;
	}
	if (instance->ms[side] < 0 || ms < instance->ms[side])
		instance->ms[side] = ms;
	return 0;
}

static int by_order(const void *left, const void *right)
{
	const struct times_instance *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Instances of one kind, in order. */
static int judge_kind(struct times_kind *kind, const struct times_instance *instances, size_t count)
{
	double *samples[TIMES_SIDES];
	size_t batches[TIMES_SIDES] = { 0 };

	for (int side = 0; side < TIMES_SIDES; side++) {
		samples[side] = calloc(count + 1, sizeof(**samples));
		for (size_t i = 0; i < count && samples[side]; i++)
			if (instances[i].ms[side] >= 0)
				samples[side][kind->instances[side]++] = (double)instances[i].ms[side];
	}
	bool memory = samples[TIMES_A] && samples[TIMES_B];

	for (int side = 0; side < TIMES_SIDES && memory; side++)
		batches[side] = rank_sum_batch(samples[side], kind->instances[side]);
	if (memory)
		kind->chance = rank_sum(samples[TIMES_A], batches[TIMES_A], samples[TIMES_B], batches[TIMES_B]);
	for (int side = 0; side < TIMES_SIDES; side++) {
		kind->ms[side] = memory && batches[side] ? rank_sum_median(samples[side], batches[side]) : -1;
		free(samples[side]);
	}
	return memory ? 0 : -ENOMEM;
}

static int by_chance(const void *left, const void *right)
{
	const struct times_kind *a = left, *b = right;

	return (a->chance > b->chance) - (a->chance < b->chance);
}

static bool is_large(const struct times_kind *kind)
{
	double apart = fabs(kind->ms[TIMES_B] - kind->ms[TIMES_A]);

	return apart >= TIMES_LEAST_MS && apart >= TIMES_LEAST * fmax(kind->ms[TIMES_A], kind->ms[TIMES_B]);
}

/* The k-th smallest of n must be below the limit even n - k times over, and so must all smaller ones. */
static void correct_for_many(struct times *times)
{
	double least = 0;

	if (times->kind_count)
		qsort(times->kinds, times->kind_count, sizeof(*times->kinds), by_chance);
	for (size_t i = 0; i < times->kind_count; i++) {
		struct times_kind *kind = &times->kinds[i];

		kind->chance = fmin(1, kind->chance * (double)(times->kind_count - i));
		least = kind->chance = fmax(least, kind->chance);
		kind->differs = kind->chance < TIMES_CHANCE && is_large(kind);
	}
}

int times_judge(struct times *times)
{
	struct times_instance *list = calloc(times->instance_count + 1, sizeof(*list));
	size_t count = 0;
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < times->instance_room && list; i++)
		if (times->instances[i].kind)
			list[count++] = times->instances[i];
	if (count)
		qsort(list, count, sizeof(*list), by_order);
	for (size_t from = 0, until; from < count && !err; from = until) {
		for (until = from; until < count && list[until].kind == list[from].kind;)
			until++;
		err = judge_kind(&times->kinds[list[from].kind - 1], &list[from], until - from);
	}
	free(list);
	if (!err)
		correct_for_many(times);
	return err;
}

void times_free(struct times *times)
{
	for (size_t i = 0; i < times->kind_count; i++)
		free(times->kinds[i].where);
	free(times->kinds);
	free(times->instances);
	*times = (struct times){ 0 };
}
