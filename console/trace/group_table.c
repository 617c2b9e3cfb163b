/* SPDX-License-Identifier: MIT */
#include "console/trace/group_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "finding/rank_list.h"

static int add(struct group_table *table, const struct group_member *member)
{
	if (table->count == table->room) {
		size_t room = table->room ? 2 * table->room : 256;
		struct group_member *members = reallocarray(table->members, room, sizeof(*members));

		if (!members)
			return -ENOMEM;
		table->members = members;
		table->room = room;
	}
	table->members[table->count++] = *member;
	return 0;
}

int group_table_add(struct group_table *table, const struct rw_communicator *communicators, uint32_t count,
		    int32_t world_rank)
{
	int err = 0;

	for (uint32_t i = 0; i < count && !err && world_rank >= 0; i++)
		if (communicators[i].created_ns)
			err = add(table,
				  &(struct group_member){ communicators[i].id, communicators[i].rank, world_rank });
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct group_member *left = a, *right = b;

	if (left->communicator != right->communicator)
		return left->communicator < right->communicator ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

void group_table_order(struct group_table *table)
{
	if (table->count)
		qsort(table->members, table->count, sizeof(*table->members), compare);
}

static size_t first_of(const struct group_table *table, uint64_t communicator)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->members[middle].communicator < communicator)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int32_t *group_table_find(const struct group_table *table, uint64_t communicator, int32_t size)
{
	size_t first = first_of(table, communicator), count = 0;

	while (first + count < table->count && table->members[first + count].communicator == communicator &&
	       table->members[first + count].rank == (int32_t)count)
		count++;
	bool more = first + count < table->count && table->members[first + count].communicator == communicator;
	int32_t *ranks = size > 0 && count == (size_t)size && !more ? calloc(count, sizeof(*ranks)) : NULL;

	for (size_t i = 0; ranks && i < count; i++)
		ranks[i] = table->members[first + i].world_rank;
	return ranks;
}

int group_table_gather(struct group_table *table, const struct replay *replay)
{
	int err = 0;

	for (size_t i = 0; i < replay->count && !err; i++) {
		const struct replay_process *process = &replay->processes[i];
		struct rw_communicator *communicators;
		uint32_t count;

		if (box_communicators(feed_reader(process->feed), &communicators, &count) == 0)
			err = group_table_add(table, communicators, count, process->rank);
		free(communicators);
	}
	group_table_order(table);
	return err;
}

static int by_number(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

char *group_name(const struct rw_communicator *communicator, int32_t *ranks)
{
	char name[sizeof(communicator->name) + 1] = "", list[64], *text = NULL;

	memcpy(name, communicator->name, sizeof(communicator->name));
	if (name[0])
		return foreign_text(name);
	if (ranks) {
		qsort(ranks, (size_t)communicator->nranks, sizeof(*ranks), by_number);
		rank_list_text(list, sizeof(list), ranks, (size_t)communicator->nranks);
		return asprintf(&text, "rank%s %s", communicator->nranks > 1 ? "s" : "", list) < 0 ? NULL : text;
	}
	return asprintf(&text, "communicator 0x%" PRIx64, communicator->id) < 0 ? NULL : text;
}

void group_table_free(struct group_table *table)
{
	free(table->members);
	*table = (struct group_table){ 0 };
}
