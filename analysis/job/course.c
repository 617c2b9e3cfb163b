/* SPDX-License-Identifier: MIT */
#include "analysis/job/course.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/job/world.h"

enum { SECONDS_MOST = 60 /* cells of one row, at most */ };

/* Of a stretch of one rank, ms. */
struct parts {
	double own, inside, unseen, lost;
};

void course_open(struct course *course)
{
	*course = (struct course){ 0 };
	cells_open(&course->cells, CELLS_LIMIT);
}

static void *grown(void *array, uint32_t *room, uint32_t wanted, size_t size)
{
	uint32_t more = *room ? *room : 64;

	while (more < wanted)
		more += more / 2;
	void *larger = realloc(array, more * size);
	if (!larger)
		return NULL;
	memset((char *)larger + *room * size, 0, (more - *room) * size);
	*room = more;
	return larger;
}

bool course_add(struct course *course, uint32_t rank)
{
	if (rank >= course->room) {
		void *ranks = grown(course->ranks, &course->room, rank + 1, sizeof(*course->ranks));
		if (!ranks)
			return false;
		course->ranks = ranks;
	}
	if (course->ranks[rank].place)
		return true;
	if (course->count == course->order_room) {
		void *order = grown(course->order, &course->order_room, course->count + 1, sizeof(*course->order));
		if (!order)
			return false;
		course->order = order;
	}
	course->order[course->count++] = rank;
	course->ranks[rank].place = course->count;
	return true;
}

const struct course_rank *course_rank(const struct course *course, uint32_t rank)
{
	return rank < course->room && course->ranks[rank].place ? &course->ranks[rank] : NULL;
}

static void add_to_cell(struct course *course, const struct course_rank *rank, uint64_t at_ns,
			const struct parts *parts, double share)
{
	uint64_t first_ns = course->cells.count ? course->cells.columns[0].from_ns : at_ns;
	struct cell *cell = cells_at(&course->cells, rank->place - 1, 0, at_ns < first_ns ? first_ns : at_ns);

	if (!cell)
		return;
	cell->own_ms += (float)(parts->own * share);
	cell->wait_ms += (float)(parts->inside * share);
	cell->unseen_ms += (float)(parts->unseen * share);
	cell->lost_ms += (float)(parts->lost * share);
}

/* Evenly over the seconds in which it was. */
static void spread(struct course *course, const struct course_rank *rank, uint64_t from_ns, uint64_t until_ns,
		   const struct parts *parts)
{
	uint64_t span_ns = until_ns - from_ns, width_ns = CELLS_SECOND_NS;

	while (span_ns / width_ns >= SECONDS_MOST)
		width_ns *= 2;
	for (uint64_t at_ns = from_ns; at_ns < until_ns;) {
		uint64_t begin_ns = at_ns / width_ns * width_ns, end_ns = begin_ns + width_ns;
		end_ns = end_ns < until_ns ? end_ns : until_ns;
		add_to_cell(course, rank, begin_ns, parts, (double)(end_ns - at_ns) / (double)span_ns);
		at_ns = end_ns;
	}
}

static uint32_t sum_of(uint32_t own_us, uint32_t inside_us, uint32_t unseen_us)
{
	return own_us + inside_us + unseen_us;
}

void course_note_row(struct course *course, uint32_t number, const struct world_row *row, uint16_t epoch,
		     uint64_t now_ns)
{
	if (!course_add(course, number))
		return;
	struct course_rank *rank = &course->ranks[number];
	uint32_t own_us = row->own_us - rank->own_us, inside_us = row->inside_us - rank->inside_us,
		 unseen_us = row->unseen_us - rank->unseen_us;
	uint32_t span_us = sum_of(own_us, inside_us, unseen_us);
	bool follows = rank->begun && rank->epoch == epoch;

	if (follows && (span_us > INT32_MAX || !span_us)) /* of an earlier time, which is counted */
		return;
	if (follows) {
		struct parts parts = { own_us / 1e3, inside_us / 1e3, unseen_us / 1e3, 0 };
		uint64_t span_ns = (uint64_t)span_us * 1000;
		spread(course, rank, now_ns > span_ns ? now_ns - span_ns : 0, now_ns, &parts);
		rank->own_sum_us += own_us;
		rank->inside_sum_us += inside_us;
		rank->unseen_sum_us += unseen_us;
		rank->operation_sum += (uint16_t)(row->operations - rank->operations);
	}
	rank->begun = true;
	rank->epoch = epoch;
	rank->own_us = row->own_us;
	rank->inside_us = row->inside_us;
	rank->unseen_us = row->unseen_us;
	rank->operations = row->operations;
}

static int latest_first(const void *left, const void *right)
{
	const struct course_late *a = left, *b = right;

	if (a->late_us != b->late_us)
		return a->late_us < b->late_us ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* What is charged already, for another communicator, is not again. */
static void charge(struct course *course, uint32_t number, uint32_t compared, double lost_us, uint64_t from_ns,
		   uint64_t until_ns)
{
	if (!course_add(course, number))
		return;
	struct course_rank *rank = &course->ranks[number];
	uint64_t begin_ns = rank->charged_ns > from_ns ? rank->charged_ns : from_ns;

	if (begin_ns >= until_ns)
		return;
	lost_us *= (double)(until_ns - begin_ns) / (double)(until_ns - from_ns);
	rank->charged_ns = until_ns;
	rank->compared = compared;
	rank->lost_sum_us += (uint64_t)lost_us;
	if (lost_us > 0)
		spread(course, rank, begin_ns, until_ns, &(struct parts){ .lost = lost_us / 1e3 });
}

void course_charge(struct course *course, struct course_late *late, uint32_t count, uint64_t from_ns, uint64_t until_ns)
{
	double lost_us = 0;

	qsort(late, count, sizeof(*late), latest_first);
	/* From the last one on: the others wait for those before it, who share that. */
	for (uint32_t i = count; i > 0; i--) {
		uint64_t next_us = i < count ? late[i].late_us : 0;
		lost_us += (double)(late[i - 1].late_us - next_us) * (count - i) / i;
		charge(course, late[i - 1].rank, count, lost_us, from_ns, until_ns);
	}
}

void course_begin(struct course *course)
{
	for (uint32_t i = 0; i < course->room; i++)
		course->ranks[i] = (struct course_rank){ .place = course->ranks[i].place };
}

size_t course_bytes(const struct course *course)
{
	return course->cells.bytes + course->room * sizeof(*course->ranks) + course->order_room * sizeof(*course->order);
}

void course_free(struct course *course)
{
	cells_free(&course->cells);
	free(course->ranks);
	free(course->order);
	*course = (struct course){ 0 };
}
