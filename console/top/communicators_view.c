/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "console/top/communicator_label.h"
#include "console/top/view.h"
#include "finding/rank_list.h"

enum { NAME_AT = 1, NAME = 17, SIZE_AT = 19, SIZE = 8, CALLS = 13, LIST = 128 };

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

static void describe_member(const struct model_member *member, uint64_t most, char *text, size_t size)
{
	if (member->calls == MODEL_CALLS_UNKNOWN)
		snprintf(text, size, "%d: not known here", member->rank);
	else if (member->calls < most)
		snprintf(text, size, "%d: %llu (%llu behind)%s", member->rank, (unsigned long long)member->calls,
			 (unsigned long long)(most - member->calls), member->captured ? " graph" : "");
	else
		snprintf(text, size, "%d: %llu%s", member->rank, (unsigned long long)member->calls, member->captured ? " graph" : "");
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
	row += canvas_paragraph(drawing->canvas, row, NAME_AT, 2, communicator->missing_count ? STYLE_WARN : STYLE_PLAIN, text);
	if (communicator->unseen > 0)
		canvas_print(drawing->canvas, row++, NAME_AT, STYLE_DIM, "%d of its ranks are not seen from here", communicator->unseen);
	return row;
}

struct members {
	int row, columns, place, room; /* how many are drawn, and how many can be */
	uint64_t most;
};

enum { MEMBER = 26 };

static void draw_member(struct view_drawing *drawing, struct members *members, enum canvas_style style, const char *text)
{
	canvas_cut(drawing->canvas, members->row + members->place / members->columns, 1 + members->place % members->columns * MEMBER,
		   MEMBER - 1, style, text);
	members->place++;
}

/* The last place says how many are left out. */
static void draw_some(struct view_drawing *drawing, struct members *members, const struct model_communicator *communicator, bool behind)
{
	char text[64];

	for (size_t i = 0; i < communicator->member_count && members->place < members->room; i++) {
		const struct model_member *member = &communicator->members[i];
		size_t left = communicator->member_count - (size_t)members->place;

		if ((member->calls < members->most) != behind)
			continue;
		if (members->place == members->room - 1 && left > 1)
			snprintf(text, sizeof(text), "and %zu more", left);
		else
			describe_member(member, members->most, text, sizeof(text));
		draw_member(drawing, members, behind ? STYLE_WARN : STYLE_PLAIN, text);
	}
}

/* Each rank's count of calls; those that are behind stand first, because not all of a large one fit. */
static void draw_members(struct view_drawing *drawing, int row, const struct model_communicator *communicator)
{
	struct members members = { .columns = drawing->canvas->width / MEMBER > 0 ? drawing->canvas->width / MEMBER : 1 };
	uint64_t least;

	calls_of(communicator, &least, &members.most);
	row = draw_flight(drawing, row, communicator);
	canvas_style_row(drawing->canvas, row, STYLE_HEAD);
	canvas_cut(drawing->canvas, row++, NAME_AT, drawing->canvas->width - 1, STYLE_HEAD, "OPERATIONS CALLED, rank by rank");
	members.row = row;
	members.room = (drawing->bottom - row) * members.columns;
	draw_some(drawing, &members, communicator, true);
	draw_some(drawing, &members, communicator, false);
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
		    drawing->at >= 0 ? "IN FLIGHT (as of now, not of then)" : model->dead ? "IN FLIGHT AT THE END" : "IN FLIGHT");
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
