/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/communicator_label.h"
#include "console/top/view.h"
#include "finding/rank_list.h"

enum { NAME_AT = 1, NAME = 17, SIZE_AT = 19, SIZE = 8, CALLS = 13, LIST = 128, LIST_MIN = 32,
	COUNTS = 20 /* columns behind a list */ };

static int size_text(char *text, size_t size, const struct model_communicator *communicator)
{
	if (communicator->size)
		return snprintf(text, size, "%zu of %d", communicator->member_count, communicator->size);
	return snprintf(text, size, "%zu of ?", communicator->member_count);
}

/* Behind the longest size: "16384 of 16384" needs more than "8 of 8". */
static int calls_at(const struct model *model)
{
	char text[48];
	int longest = SIZE;

	for (size_t i = 0; i < model->communicator_count; i++) {
		int length = size_text(text, sizeof(text), &model->communicators[i]);

		longest = length > longest ? length : longest;
	}
	return SIZE_AT + longest + 1;
}

static void calls_of(const struct model_communicator *communicator, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (size_t i = 0; i < communicator->member_count; i++) {
		uint64_t calls = communicator->members[i].calls;

		if (calls == MODEL_CALLS_UNKNOWN)
			continue;

		*least = calls < *least ? calls : *least;
		*most = calls > *most ? calls : *most;
	}
}

static void draw_calls(struct view_drawing *drawing, int row, int at, const struct model_communicator *communicator)
{
	uint64_t least, most;
	char text[64];

	calls_of(communicator, &least, &most);
	if (!communicator->member_count || least == MODEL_CALLS_UNKNOWN)
		return;
	if (least == most)
		snprintf(text, sizeof(text), "%llu each", (unsigned long long)most);
	else
		snprintf(text, sizeof(text), "%llu to %llu", (unsigned long long)least, (unsigned long long)most);
	canvas_cut(drawing->canvas, row, at, CALLS, STYLE_PLAIN, text);
}

static void draw_missing(struct view_drawing *drawing, int row, int at, const struct model_communicator *communicator)
{
	char list[LIST], text[LIST + MODEL_TEXT + 32];

	if (!*communicator->flight) {
		canvas_text(drawing->canvas, row, at, STYLE_DIM, "nothing");
		return;
	}
	if (communicator->missing_count)
		snprintf(text, sizeof(text), "%s: not come: %s", communicator->flight,
			 rank_list_text(list, sizeof(list), communicator->missing, communicator->missing_count));
	else
		snprintf(text, sizeof(text), "%s: %zu came", communicator->flight, communicator->joined_count);
	canvas_cut(drawing->canvas, row, at, drawing->canvas->width - at,
		   communicator->missing_count ? STYLE_WARN : STYLE_PLAIN, text);
}

static void draw_row(struct view_drawing *drawing, int row, int at, const struct model_communicator *communicator)
{
	char label[MODEL_TEXT + 160], size[48];

	canvas_cut(drawing->canvas, row, NAME_AT, NAME, STYLE_PLAIN,
		   communicator_label(drawing->model, communicator->id, communicator->name, label, sizeof(label)));
	size_text(size, sizeof(size), communicator);
	canvas_text(drawing->canvas, row, SIZE_AT, STYLE_PLAIN, size);
	draw_calls(drawing, row, at, communicator);
	draw_missing(drawing, row, at + CALLS + 1, communicator);
}

/* Of the chosen one in full. Returns the next row. */
static int draw_flight(struct view_drawing *drawing, int row, const struct model_communicator *communicator)
{
	char list[LIST], text[LIST + MODEL_TEXT + 96], label[MODEL_TEXT + 160];

	canvas_cut(drawing->canvas, row++, NAME_AT, drawing->canvas->width - 1, STYLE_BOLD,
		   communicator_label(drawing->model, communicator->id, communicator->name, label, sizeof(label)));
	if (!*communicator->flight)
		return row;
	snprintf(text, sizeof(text), "%s: %zu came%s%s", communicator->flight, communicator->joined_count,
		 communicator->missing_count ? "; missing: " : "",
		 communicator->missing_count
		     ? rank_list_text(list, sizeof(list), communicator->missing, communicator->missing_count)
		     : "");
	row += canvas_paragraph(drawing->canvas, row, NAME_AT, 2,
				communicator->missing_count ? STYLE_WARN : STYLE_PLAIN, text);
	if (communicator->unseen > 0)
		canvas_print(drawing->canvas, row++, NAME_AT, STYLE_DIM, "%d of its ranks are not seen from here",
			     communicator->unseen);
	return row;
}

/* Those that are furthest behind first; of whom it is not known last. */
static int by_calls(const void *left, const void *right)
{
	const struct model_member *a = left, *b = right;

	if (a->calls != b->calls)
		return a->calls < b->calls ? -1 : 1;
	if (a->captured != b->captured)
		return a->captured ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* How many from the first on have called as many. */
static size_t alike(const struct model_member *members, size_t count)
{
	size_t same = 1;

	while (same < count && members[same].calls == members->calls && members[same].captured == members->captured)
		same++;
	return same;
}

/* "3: 398 (2 behind)", "0-2,4-7: 400" */
static void draw_alike(struct view_drawing *drawing, int row, const struct model_member *members, size_t count,
		       uint64_t most)
{
	const uint64_t calls = members->calls;
	char list[LIST], text[LIST + 64];
	int32_t *ranks = malloc(count * sizeof(*ranks));
	int room = drawing->canvas->width - COUNTS < LIST ? drawing->canvas->width - COUNTS : LIST;

	for (size_t i = 0; ranks && i < count; i++)
		ranks[i] = members[i].rank;
	rank_list_text(list, room > LIST_MIN ? (size_t)room : LIST_MIN, ranks, ranks ? count : 0);
	free(ranks);
	if (calls == MODEL_CALLS_UNKNOWN)
		snprintf(text, sizeof(text), "%s: not known here", list);
	else if (calls < most)
		snprintf(text, sizeof(text), "%s: %llu (%llu behind)%s", list, (unsigned long long)calls,
			 (unsigned long long)(most - calls), members->captured ? " graph" : "");
	else
		snprintf(text, sizeof(text), "%s: %llu%s", list, (unsigned long long)calls,
			 members->captured ? " graph" : "");
	canvas_cut(drawing->canvas, row, NAME_AT, drawing->canvas->width - 1, calls < most ? STYLE_WARN : STYLE_PLAIN,
		   text);
}

/* How many operations the ranks have called: a line for all that have called as many. The last line says how many are
 * left out. */
static void draw_members(struct view_drawing *drawing, int row, const struct model_communicator *communicator)
{
	size_t count = communicator->member_count;
	struct model_member *members = malloc((count + 1) * sizeof(*members));
	uint64_t least, most;

	calls_of(communicator, &least, &most);
	row = draw_flight(drawing, row, communicator);
	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_cut(drawing->canvas, row++, NAME_AT, drawing->canvas->width - 1, STYLE_HEAD,
		   "OPERATIONS CALLED, by each of these ranks");
	if (members && count) {
		memcpy(members, communicator->members, count * sizeof(*members));
		qsort(members, count, sizeof(*members), by_calls);
	}
	for (size_t i = 0, same; members && i < count && row < drawing->bottom; i += same, row++) {
		same = alike(&members[i], count - i);
		if (row == drawing->bottom - 1 && i + same < count)
			canvas_print(drawing->canvas, row, NAME_AT, STYLE_PLAIN, "and %zu more ranks", count - i);
		else
			draw_alike(drawing, row, &members[i], same, most);
	}
	free(members);
}

void communicators_draw(struct view_drawing *drawing)
{
	const struct model *model = drawing->model;
	struct view *view = drawing->view;
	int space = drawing->bottom - drawing->top - 1, page = space * 2 / 3;
	size_t first = view_scroll(view, model->communicator_count, page);
	int row = drawing->top, at = calls_at(model);

	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_text(drawing->canvas, row, NAME_AT, STYLE_HEAD, "COMMUNICATOR");
	canvas_text(drawing->canvas, row, SIZE_AT, STYLE_HEAD, "SEEN");
	canvas_text(drawing->canvas, row, at, STYLE_HEAD, "CALLS");
	canvas_text(drawing->canvas, row++, at + CALLS + 1, STYLE_HEAD,
		    drawing->at >= 0 ? "IN FLIGHT (as of now, not of then)"
		    : model->dead    ? "IN FLIGHT AT THE END"
				     : "IN FLIGHT");
	for (size_t i = first; i < model->communicator_count && i < first + (size_t)page; i++, row++) {
		if (i == view->cursor)
			canvas_text(drawing->canvas, row, 0, STYLE_CHOSEN, "▸");
		draw_row(drawing, row, at, &model->communicators[i]);
	}
	if (!model->communicator_count)
		canvas_text(drawing->canvas, row + 1, 2, STYLE_DIM, "no communicator has been seen yet");
	else if (view->cursor < model->communicator_count)
		draw_members(drawing, row + 1, &model->communicators[view->cursor]);
}
