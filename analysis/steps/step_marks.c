/* SPDX-License-Identifier: MIT */
#include "analysis/steps/step_marks.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1) /* RANKWATCH_STEP_MAX of rankwatch/rankwatch.h: a box may hold any */

enum { FIRST_ROOM = 256 };

static const struct step_mark *at(const struct step_marks *marks, uint64_t index)
{
	return &marks->kept[index % STEP_MARKS_MAX];
}

const struct step_mark *step_marks_newest(const struct step_marks *marks)
{
	return at(marks, marks->count - 1);
}

static uint64_t oldest(const struct step_marks *marks)
{
	return marks->count > STEP_MARKS_MAX ? marks->count - STEP_MARKS_MAX : 0;
}

static uint32_t hash_of(const uint32_t *signatures, uint32_t count)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ signatures[i]) * 16777619u;
	return hash;
}

static bool ended_so(const struct step_marks *marks, uint32_t hash)
{
	uint32_t known = marks->ended_count < STEP_MARKS_ALIKE ? marks->ended_count : STEP_MARKS_ALIKE;

	for (uint32_t i = 0; i < known; i++)
		if (marks->ended[i] == hash)
			return true;
	return false;
}

/* The step that has ended becomes the pattern if one like it came before, and none like the pattern any more. */
static bool end_step(struct step_marks *marks)
{
	uint32_t count = marks->current_count, hash = hash_of(marks->current, count);
	bool whole = count && count == marks->operations;
	bool adopted = whole && ended_so(marks, hash) && (!marks->pattern || !ended_so(marks, marks->pattern_hash));

	if (adopted) {
		free(marks->pattern);
		marks->pattern = marks->current;
		marks->pattern_hash = hash;
		marks->length = count;
		marks->current = NULL;
		marks->current_room = 0;
	}
	if (whole)
		marks->ended[marks->ended_count++ % STEP_MARKS_ALIKE] = hash;
	if (marks->operations > marks->most)
		marks->most = marks->operations;
	marks->current_count = marks->operations = marks->at = 0;
	return adopted;
}

static void begin_run(struct step_marks *marks, uint64_t step, uint64_t number)
{
	marks->run_step = step;
	marks->run_number = number;
	marks->stride = 0;
}

/* The number of the next step says how they go on. */
static void note_number(struct step_marks *marks, uint64_t step, uint64_t number)
{
	uint64_t last = step_marks_newest(marks)->number;
	uint64_t stride = number - last;

	marks->irregular = marks->irregular || number != last + 1;
	uint32_t backs = marks->by_tag ? 0 : 1 + marks->advances / STEP_MARKS_PER_BACK;

	marks->backs += number < last;
	marks->advances += number > last;
	marks->refused = marks->refused || marks->backs > backs;
	if (number > last && !marks->stride)
		marks->stride = stride;
	if (number <= last || stride != marks->stride)
		begin_run(marks, step, number);
}

static bool keep(struct step_marks *marks, const struct step_mark *mark)
{
	if (!marks->kept)
		marks->kept = calloc(STEP_MARKS_MAX, sizeof(*marks->kept));
	if (marks->kept)
		marks->kept[marks->count++ % STEP_MARKS_MAX] = *mark;
	return marks->kept;
}

/* The program's calls count more than the tags of its calls of NCCL. */
static void change_source(struct step_marks *marks, bool by_tag)
{
	marks->by_tag = by_tag;
	marks->refused = false;
	marks->advances = marks->backs = 0;
}

bool step_marks_add(struct step_marks *marks, uint64_t number, uint64_t ticket, bool by_tag, uint64_t next_step)
{
	if (by_tag && (!marks->count || marks->by_tag))
		marks->refused = marks->refused || !number;
	if (number > NUMBER_MAX || (by_tag && (!number || (marks->count && !marks->by_tag))))
		return false;
	if (marks->count && (ticket <= step_marks_newest(marks)->ticket ||
			     (number == step_marks_newest(marks)->number && by_tag == marks->by_tag)))
		return false;

	struct step_mark mark = { .ticket = ticket, .number = number };
	bool adopted = false;
	if (marks->count) {
		mark.step = step_marks_newest(marks)->step + 1;
		if (by_tag != marks->by_tag)
			change_source(marks, by_tag);
		note_number(marks, mark.step, number);
		adopted = end_step(marks);
	} else {
		mark.step = next_step;
		marks->first_step = mark.step;
		marks->by_tag = by_tag;
		begin_run(marks, mark.step, number);
	}
	return keep(marks, &mark) && adopted;
}

/* So long as it takes that no step is: the program has stopped to say which it is in. */
static bool is_silent(const struct step_marks *marks)
{
	uint32_t longest = marks->most < UINT32_MAX / STEP_MARKS_SILENT ? marks->most * STEP_MARKS_SILENT : UINT32_MAX;

	return marks->operations > STEP_MARKS_OPERATIONS && marks->operations > longest;
}

bool step_marks_are_promising(const struct step_marks *marks)
{
	return marks->advances && !marks->refused && !is_silent(marks);
}

bool step_marks_are_trusted(const struct step_marks *marks)
{
	return step_marks_are_promising(marks) && marks->advances >= (marks->by_tag ? STEP_MARKS_TAGS : 1);
}

const struct step_mark *step_marks_of(const struct step_marks *marks, uint64_t ticket)
{
	uint64_t low = oldest(marks), high = marks->count; /* the first with a later ticket is in [low, high] */

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (at(marks, middle)->ticket < ticket)
			low = middle + 1;
		else
			high = middle;
	}
	return low > oldest(marks) ? at(marks, low - 1) : NULL;
}

static int64_t kept_number(const struct step_marks *marks, uint64_t step)
{
	uint64_t back = marks->count ? step_marks_newest(marks)->step - step : UINT64_MAX;

	return back < marks->count - oldest(marks) ? (int64_t)at(marks, marks->count - 1 - back)->number : -1;
}

int64_t step_marks_number(const struct step_marks *marks, uint64_t step)
{
	if (!marks->count || step < marks->run_step)
		return kept_number(marks, step);
	uint64_t later = step - marks->run_step;
	if (later && (!marks->stride || later > (NUMBER_MAX - marks->run_number) / marks->stride))
		return -1;
	return (int64_t)(marks->run_number + later * marks->stride);
}

static bool grow(struct step_marks *marks)
{
	uint32_t room = marks->current_room ? marks->current_room * 2 : FIRST_ROOM;
	uint32_t *current = realloc(marks->current, room * sizeof(*current));

	if (!current)
		return false;
	marks->current = current;
	marks->current_room = room;
	return true;
}

/* One that is not kept makes the step one that is not compared. */
static void collect(struct step_marks *marks, uint32_t signature)
{
	if (marks->operations < UINT32_MAX)
		marks->operations++;
	if (marks->current_count == STEP_MARKS_OPERATIONS ||
	    (marks->current_count == marks->current_room && !grow(marks)))
		return;
	marks->current[marks->current_count++] = signature;
}

uint32_t step_marks_place(struct step_marks *marks, uint32_t signature)
{
	collect(marks, signature);
	if (marks->at >= marks->length || marks->pattern[marks->at] != signature)
		return UINT32_MAX;
	return marks->at++;
}

void step_marks_free(struct step_marks *marks)
{
	free(marks->kept);
	free(marks->pattern);
	free(marks->current);
	*marks = (struct step_marks){ 0 };
}
