/* SPDX-License-Identifier: MIT */
#include "analysis/init_circle.h"

#include <stdlib.h>

#include "analysis/circle_walk.h"
#include "analysis/inits.h"
#include "analysis/model.h"
#include "analysis/text.h"

static const uint32_t subject = (1u << 30) | (1u << 29);

/* A rank in the gathering to which it has come. */
struct stander {
	int32_t rank;
	const struct gathering *gathering;
};

struct standers {
	struct stander *items; /* by rank */
	uint32_t count;
};

static int by_rank(const void *a, const void *b)
{
	const struct stander *left = a, *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool find_standers(struct standers *standers, const struct gatherings *gatherings)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < gatherings->count; i++)
		room += gatherings->items[i].present_count;
	*standers = (struct standers){ .items = room ? malloc(room * sizeof(*standers->items)) : NULL };
	if (!standers->items)
		return false;
	for (uint32_t i = 0; i < gatherings->count; i++)
		for (uint32_t k = 0; k < gatherings->items[i].present_count; k++)
			standers->items[standers->count++] = (struct stander){ gatherings->items[i].present[k], &gatherings->items[i] };
	qsort(standers->items, standers->count, sizeof(*standers->items), by_rank);
	return true;
}

/* For the first one that is missing there. One that waits in no init is the rank that inits.c reports, and nobody is in a circle with it. */
static uint32_t awaited(const void *argument, uint32_t at)
{
	const struct standers *standers = argument;
	const struct gathering *gathering = standers->items[at].gathering;
	uint32_t found = CIRCLE_NOBODY;

	for (uint32_t i = 0; i < gathering->missing_count; i++) {
		const struct stander key = { .rank = gathering->missing[i] };
		const struct stander *next = bsearch(&key, standers->items, standers->count, sizeof(key), by_rank);
		if (!next)
			return CIRCLE_NOBODY;
		if (found == CIRCLE_NOBODY)
			found = (uint32_t)(next - standers->items);
	}
	return found;
}

/* The first circle; 0: there is none. */
static uint32_t find_circle(const struct standers *standers, uint32_t circle[CIRCLE_RANKS_MAX])
{
	bool *met = calloc(standers->count, sizeof(*met));
	uint32_t count = 0;

	for (uint32_t i = 0; met && i < standers->count && !count; i++)
		count = circle_walk(i, awaited, standers, met, circle);
	free(met);
	return count;
}

static uint64_t since_ns(const struct standers *standers, const uint32_t *circle, uint32_t count)
{
	uint64_t since_ns = 0;

	for (uint32_t i = 0; i < count; i++)
		if (standers->items[circle[i]].gathering->since_ns > since_ns)
			since_ns = standers->items[circle[i]].gathering->since_ns;
	return since_ns;
}

static struct record *make_record(const struct analysis *analysis, const struct standers *standers, const uint32_t *circle, uint32_t count,
				  uint64_t since, uint64_t now_ns)
{
	struct text_init_link links[TEXT_CIRCLE_LINKS];
	int32_t ranks[CIRCLE_RANKS_MAX];
	const struct gathering *first = standers->items[circle[0]].gathering;
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);

	if (!record)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct stander *stander = &standers->items[circle[i]], *next = &standers->items[circle[(i + 1) % count]];
		ranks[i] = stander->rank;
		if (i < TEXT_CIRCLE_LINKS)
			links[i] = (struct text_init_link){ stander->rank, next->rank, stander->gathering->size };
	}
	if (record_set_waiting_worlds(record, ranks, count)) {
		record_free(record);
		return NULL;
	}
	struct rw_finding *finding = &record->finding;
	record->subject = subject;
	finding->standing = RW_STANDING_CIRCLE;
	finding->severity = RW_WARNING;
	finding->confidence = RW_INCONCLUSIVE;
	finding->arrival = RW_ARRIVAL_NONE;
	finding->level = RW_LEVEL_SELF;
	finding->first_seen_ns = since;
	finding->detect_ms = finding->late.by_ms = (double)(now_ns - since) / 1e6;
	finding->late.present = true;
	finding->operation.present = true;
	finding->operation.comm = first->id;
	finding->operation.comm_size = first->size;
	finding->operation.phase = RW_PHASE_INIT;
	record_set_watchdog(record, first->first, false, now_ns - first->begun_ns);
	text_init_circle(record, links, count);
	return record;
}

void init_circle_tick(struct analysis *analysis, const struct gatherings *gatherings, uint64_t now_ns)
{
	struct standers standers;
	uint32_t circle[CIRCLE_RANKS_MAX], count = find_standers(&standers, gatherings) ? find_circle(&standers, circle) : 0;
	uint64_t since = since_ns(&standers, circle, count);
	bool due = count && now_ns >= since + INIT_AFTER_NS;

	if (due) {
		struct record *record = make_record(analysis, &standers, circle, count, since, now_ns);
		if (record)
			findings_tell(&analysis->findings, record, now_ns);
		analysis->inits.circle_told |= record != NULL;
	} else if (analysis->inits.circle_told) {
		findings_close(&analysis->findings, RW_KIND_HANG, subject, now_ns);
		analysis->inits.circle_told = false;
	}
	free(standers.items);
}
