/* SPDX-License-Identifier: MIT */
#include "console/boxes/box_runs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A communicator as evidence that two boxes belong together. */
struct membership {
	uint64_t comm;
	size_t entry;
};

struct memberships {
	struct membership *items;
	size_t count;
};

static int add_memberships(struct memberships *all, const struct box_reader *reader, size_t entry)
{
	struct rw_communicator *communicators;
	uint32_t count;
	int error = box_communicators(reader, &communicators, &count);
	const struct rw_init *init = &reader->header.init;
	struct membership *items = error ? NULL : reallocarray(all->items, all->count + count + 1, sizeof(*items));

	if (items) {
		all->items = items;
		for (uint32_t i = 0; i < count; i++) {
			if (communicators[i].created_ns)
				items[all->count++] = (struct membership){ communicators[i].id, entry };
		}
		/* One that waits in ncclCommInit has none yet. */
		if (init->since_ns)
			items[all->count++] = (struct membership){ init->id, entry };
	}
	free(communicators);
	/* An unreadable table only means that nothing joins this box to others. */
	return error == -ENOMEM || (!error && !items) ? -ENOMEM : 0;
}

static int by_comm(const void *a, const void *b)
{
	const struct membership *left = a, *right = b;

	return (left->comm > right->comm) - (left->comm < right->comm);
}

static size_t find_root(struct boxes *boxes, size_t entry)
{
	while (boxes->entries[entry].run != entry)
		entry = boxes->entries[entry].run;
	return entry;
}

static bool same_job(const struct box_entry *a, const struct box_entry *b)
{
	return !strncmp(a->reader.header.job, b->reader.header.job, sizeof(a->reader.header.job));
}

/* Boxes that share a communicator end up under one root. */
static int join_runs(struct boxes *boxes)
{
	struct memberships all = { 0 };
	int error = 0;

	for (size_t i = 0; i < boxes->count && !error; i++) {
		boxes->entries[i].run = i;
		error = add_memberships(&all, &boxes->entries[i].reader, i);
	}
	if (!error && all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_comm);
	for (size_t i = 1; !error && i < all.count; i++) {
		const struct membership *last = &all.items[i - 1], *next = &all.items[i];

		if (last->comm == next->comm && same_job(&boxes->entries[last->entry], &boxes->entries[next->entry]))
			boxes->entries[find_root(boxes, next->entry)].run = find_root(boxes, last->entry);
	}
	free(all.items);
	return error;
}

/* Sort key of an entry while runs are put in order: when its run began. */
struct ordered {
	struct box_entry entry;
	uint64_t run_began;
	size_t root;
	int32_t rank;
};

static int newest_run_first(const void *a, const void *b)
{
	const struct ordered *left = a, *right = b;

	if (left->run_began != right->run_began)
		return left->run_began < right->run_began ? 1 : -1;
	if (left->root != right->root)
		return left->root < right->root ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static void order_fill(struct boxes *boxes, struct ordered *ordered)
{
	for (size_t i = 0; i < boxes->count; i++)
		ordered[i] = (struct ordered){ .entry = boxes->entries[i],
					       .root = find_root(boxes, i),
					       .rank = box_rank(&boxes->entries[i].reader) };
	for (size_t i = 0; i < boxes->count; i++) {
		uint64_t *began = &ordered[ordered[i].root].run_began;
		uint64_t created = boxes->entries[i].reader.header.created_realtime_ns;

		if (created > *began)
			*began = created;
	}
	for (size_t i = 0; i < boxes->count; i++)
		ordered[i].run_began = ordered[ordered[i].root].run_began;
}

static int sort_runs(struct boxes *boxes)
{
	struct ordered *ordered = calloc(boxes->count, sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	order_fill(boxes, ordered);
	qsort(ordered, boxes->count, sizeof(*ordered), newest_run_first);
	for (size_t i = 0; i < boxes->count; i++) {
		if (i == 0 || ordered[i].root != ordered[i - 1].root)
			boxes->run_count++;
		boxes->entries[i] = ordered[i].entry;
		boxes->entries[i].run = boxes->run_count - 1;
	}
	free(ordered);
	return 0;
}

int box_runs_number(struct boxes *boxes)
{
	int error = boxes->count ? join_runs(boxes) : 0;

	return error || !boxes->count ? error : sort_runs(boxes);
}

void box_runs_keep_job(struct boxes *boxes, const char *job)
{
	size_t kept = 0, runs = 0, last_run = SIZE_MAX;

	for (size_t i = 0; i < boxes->count; i++) {
		struct box_entry *entry = &boxes->entries[i];

		if (job && strncmp(entry->reader.header.job, job, sizeof(entry->reader.header.job))) {
			box_reader_close(&entry->reader);
			free(entry->path);
			continue;
		}
		runs += entry->run != last_run;
		last_run = entry->run;
		boxes->entries[kept] = *entry;
		boxes->entries[kept++].run = runs - 1;
	}
	boxes->count = kept;
	boxes->run_count = runs;
}

size_t box_runs_entries(const struct boxes *boxes, size_t run, size_t *first)
{
	size_t count = 0;

	*first = 0;
	for (size_t i = 0; i < boxes->count; i++) {
		if (boxes->entries[i].run != run)
			continue;
		if (count++ == 0)
			*first = i;
	}
	return count;
}

size_t box_runs_earlier(const struct boxes *boxes, size_t run)
{
	size_t first, own;
	int32_t generation;

	box_runs_entries(boxes, run, &own);
	generation = boxes->entries[own].reader.header.generation;
	for (size_t older = run + 1; older < boxes->run_count; older++) {
		box_runs_entries(boxes, older, &first);
		const struct box_entry *entry = &boxes->entries[first];

		if (!same_job(entry, &boxes->entries[own]) || entry->reader.header.generation == generation)
			continue;
		return entry->reader.header.generation < generation ? older : 0;
	}
	return 0;
}
