/* SPDX-License-Identifier: MIT */
#include "console/compare/partings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct parting *find(const struct partings *partings, const struct parting *wanted)
{
	for (size_t i = 0; i < partings->count; i++) {
		struct parting *parting = &partings->list[i];

		if (parting->kind == wanted->kind && !strcmp(parting->where, wanted->where) &&
		    !strcmp(parting->in_a, wanted->in_a) && !strcmp(parting->in_b, wanted->in_b))
			return parting;
	}
	return NULL;
}

static struct parting *add(struct partings *partings, const struct parting *wanted)
{
	if (partings->count == partings->room) {
		size_t room = partings->room ? 2 * partings->room : 16;
		struct parting *list = reallocarray(partings->list, room, sizeof(*list));

		if (!list)
			return NULL;
		partings->list = list;
		partings->room = room;
	}
	struct parting *parting = &partings->list[partings->count++];

	*parting = (struct parting){ .kind = wanted->kind,
				     .where = strdup(wanted->where),
				     .in_a = strdup(wanted->in_a),
				     .in_b = strdup(wanted->in_b),
				     .in_result = wanted->in_result,
				     .at_ns = UINT64_MAX,
				     .before = UINT64_MAX };
	return parting->where && parting->in_a && parting->in_b ? parting : NULL;
}

int partings_add(struct partings *partings, const struct parting *wanted, int32_t rank)
{
	struct parting *parting = find(partings, wanted);

	if (!parting)
		parting = add(partings, wanted);
	int32_t *ranks = parting ? reallocarray(parting->ranks, parting->rank_count + 1, sizeof(*ranks)) : NULL;

	if (!ranks)
		return -ENOMEM;
	parting->ranks = ranks;
	ranks[parting->rank_count++] = rank;
	if (wanted->at_ns < parting->at_ns)
		parting->at_ns = wanted->at_ns;
	if (wanted->before < parting->before)
		parting->before = wanted->before;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct parting *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	return a->in_result - b->in_result;
}

void partings_order(struct partings *partings)
{
	if (partings->count)
		qsort(partings->list, partings->count, sizeof(*partings->list), compare);
}

size_t partings_count(const struct partings *partings, enum parting_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < partings->count; i++)
		count += partings->list[i].kind == kind;
	return count;
}

void partings_free(struct partings *partings)
{
	for (size_t i = 0; i < partings->count; i++) {
		free(partings->list[i].where);
		free(partings->list[i].in_a);
		free(partings->list[i].in_b);
		free(partings->list[i].ranks);
	}
	free(partings->list);
	*partings = (struct partings){ 0 };
}

const char *parting_name(enum parting_kind kind)
{
	static const char *const names[] = { "calls", "bad", "magnitudes", "bits" };

	return names[kind];
}
