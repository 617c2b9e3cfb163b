/* SPDX-License-Identifier: MIT */
#include "console/compare/side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "finding/rank_list.h"

int side_open(struct side *side, char *path, const char *command)
{
	char *paths[] = { path };
	const struct box_choice choice = { .paths = paths, .path_count = 1 };

	*side = (struct side){ 0 };
	int err = box_choice_open(&choice, command, &side->boxes);

	if (err)
		return err;
	side->count = box_runs_entries(&side->boxes, 0, &side->first);
	for (size_t i = 0; i < side->count && !err; i++) {
		const struct box_entry *entry = &side->boxes.entries[side->first + i];
		struct rw_communicator *communicators;
		uint32_t count;

		if (box_communicators(&entry->reader, &communicators, &count) == 0)
			err = group_table_add(&side->groups, communicators, count, box_rank(&entry->reader));
		free(communicators);
	}
	group_table_order(&side->groups);
	return err;
}

void side_close(struct side *side)
{
	group_table_free(&side->groups);
	boxes_close(&side->boxes);
}

const struct box_entry *side_find(const struct side *side, int32_t rank)
{
	for (size_t i = 0; i < side->count; i++)
		if (box_rank(&side->boxes.entries[side->first + i].reader) == rank)
			return &side->boxes.entries[side->first + i];
	return NULL;
}

/* What is the same in another run of the same program: ids are not. Where some ranks of it left no box: size and own
 * place. */
static char *key_of(const struct rw_communicator *communicator, const int32_t *ranks)
{
	size_t size = 32 + 12 * (size_t)(communicator->nranks > 0 ? communicator->nranks : 0);
	char *list = malloc(size), *key = NULL;

	if (list && ranks)
		rank_list_text(list, size, ranks, (size_t)communicator->nranks);
	else if (list)
		snprintf(list, size, "%d of %d", communicator->rank, communicator->nranks);
	if (list && asprintf(&key, "%.*s %s", (int)sizeof(communicator->name), communicator->name, list) < 0)
		key = NULL;
	free(list);
	return key;
}

/* The second communicator of the same name and ranks is another line. */
static int number(struct side_rank *rank, size_t at)
{
	struct side_line *line = &rank->lines[at];
	unsigned before = 0;
	char *key;

	for (size_t i = 0; i < at; i++) {
		size_t length = strlen(line->key);
		before += strncmp(rank->lines[i].key, line->key, length) == 0 && rank->lines[i].key[length] == '/';
	}
	if (asprintf(&key, "%s/%u", line->key, before) < 0)
		return -ENOMEM;
	free(line->key);
	line->key = key;
	if (!before)
		return 0;
	char *name;

	if (asprintf(&name, "%s (number %u of them)", line->name, before + 1) < 0)
		return -ENOMEM;
	free(line->name);
	line->name = name;
	return 0;
}

static int make_line(struct side_rank *rank, const struct side *side, const struct rw_communicator *communicator)
{
	int32_t *ranks = group_table_find(&side->groups, communicator->id, communicator->nranks);
	struct side_line *line = &rank->lines[rank->line_count];

	line->name = group_name(communicator, ranks); /* sorts the ranks */
	line->key = key_of(communicator, ranks);
	line->list = calloc(rank->operations.count + 1, sizeof(*line->list));
	free(ranks);
	rank->line_count++;
	return line->name && line->key && line->list ? number(rank, rank->line_count - 1) : -ENOMEM;
}

/* A replay of a graph reports scans alone, whenever their results come: it has no place in the order of calls. */
static bool is_call(const struct rw_operation *operation, bool announced)
{
	return !(operation->flags & RW_FLAG_CAPTURED) && operation->known & RW_KNOWN_IDENT &&
	       !(announced && operation->flags & RW_FLAG_UNANNOUNCED);
}

static int by_creation(const void *left, const void *right)
{
	const struct rw_communicator *a = *(const struct rw_communicator *const *)left;
	const struct rw_communicator *b = *(const struct rw_communicator *const *)right;

	return (a->created_ns > b->created_ns) - (a->created_ns < b->created_ns);
}

static void sort_calls(struct side_rank *rank, const struct rw_communicator *const *order, bool announced)
{
	for (size_t i = 0; i < rank->operations.count; i++) {
		const struct rw_operation *operation = &rank->operations.list[i];
		const struct rw_communicator *communicator = box_operations_communicator(&rank->operations, operation);
		size_t at = 0;

		if (!communicator || !is_call(operation, announced))
			continue;
		while (order[at] != communicator)
			at++;
		rank->lines[at].list[rank->lines[at].count++] = operation;
		if (!rank->begin_ns)
			rank->begin_ns = operation->api_ns;
	}
}

static int by_key(const void *left, const void *right)
{
	const struct side_line *a = left, *b = right;

	return strcmp(a->key, b->key);
}

int side_rank_read(struct side_rank *rank, const struct side *side, const struct box_entry *entry, bool announced)
{
	const struct rw_box_header *header = &entry->reader.header;

	*rank = (struct side_rank){ .whole = header->head <= header->ring_slots, .interposed = header->interposed };
	int err = box_operations_read(&rank->operations, &entry->reader);
	uint32_t count = rank->operations.communicator_count, used = 0;
	const struct rw_communicator **order = calloc(count + 1, sizeof(*order));

	rank->lines = calloc(count + 1, sizeof(*rank->lines));
	if (!err && (!order || !rank->lines))
		err = -ENOMEM;
	for (uint32_t i = 0; i < count && !err; i++)
		if (rank->operations.communicators[i].created_ns)
			order[used++] = &rank->operations.communicators[i];
	if (used)
		qsort(order, used, sizeof(*order), by_creation);
	for (uint32_t i = 0; i < used && !err; i++)
		err = make_line(rank, side, order[i]);
	if (!err)
		sort_calls(rank, order, announced);
	if (!err && rank->line_count)
		qsort(rank->lines, rank->line_count, sizeof(*rank->lines), by_key);
	free(order);
	return err;
}

void side_rank_free(struct side_rank *rank)
{
	for (size_t i = 0; i < rank->line_count; i++) {
		free(rank->lines[i].key);
		free(rank->lines[i].name);
		free(rank->lines[i].list);
	}
	free(rank->lines);
	box_operations_free(&rank->operations);
	*rank = (struct side_rank){ 0 };
}

const struct side_line *side_rank_line(const struct side_rank *rank, const char *key)
{
	const struct side_line wanted = { .key = (char *)key };

	return rank->line_count ? bsearch(&wanted, rank->lines, rank->line_count, sizeof(*rank->lines), by_key) : NULL;
}
