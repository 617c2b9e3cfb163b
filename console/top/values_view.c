/* SPDX-License-Identifier: MIT */
/* The largest magnitudes by communicator, and NaN and Inf by rank and step: where the first were seen. */
#include <stdio.h>
#include <stdlib.h>

#include "console/top/magnitude_rows.h"
#include "console/top/view.h"

/* Both tables' strips begin in the same column, so that a step stands below itself. */
enum { RANK_AT = 1, SCANS_AT = 8, FIRST_AT = 24, STRIP_AT = 46 };

/* The first column in which this rank had bad values; -1 none. */
static long first_bad(const struct model *model, size_t index, long last)
{
	for (long i = 0; i <= last; i++)
		if (index < model->columns[i].rank_count && model->columns[i].cells[index].bad)
			return i;
	return -1;
}

static void draw_row(struct view_drawing *drawing, int row, size_t index, long last)
{
	const struct model *model = drawing->model;
	const struct model_rank *rank = &model->ranks[index];
	long first = first_bad(model, index, last);
	int width = drawing->canvas->width - STRIP_AT;

	canvas_print(drawing->canvas, row, RANK_AT, first >= 0 ? STYLE_BOLD : STYLE_PLAIN, "%5d", rank->rank);
	canvas_print(drawing->canvas, row, SCANS_AT, STYLE_PLAIN, "%llu", (unsigned long long)rank->clean_scans);
	if (first >= 0 && model->columns[first].step)
		canvas_print(drawing->canvas, row, FIRST_AT, STYLE_BAD, "step %llu",
			     (unsigned long long)model->columns[first].step);
	else if (first >= 0)
		canvas_text(drawing->canvas, row, FIRST_AT, STYLE_BAD, "yes");
	else
		canvas_text(drawing->canvas, row, FIRST_AT, STYLE_DIM,
			    !rank->clean_scans            ? "not scanned"
			    : rank->scanning.left_out > 0 ? "none; part is scanned"
							  : "none");
	for (int i = 0; i < width; i++) {
		long at = last - width + 1 + i;

		if (at < 0 || index >= model->columns[at].rank_count)
			continue;
		bool bad = model->columns[at].cells[index].bad;

		canvas_text(drawing->canvas, row, STRIP_AT + i, bad ? STYLE_BAD : STYLE_DIM, bad ? "N" : "·");
	}
}

static const struct model *ordered_model;

static int by_world_rank(const void *left, const void *right)
{
	int32_t a = ordered_model->ranks[*(const size_t *)left].rank,
		b = ordered_model->ranks[*(const size_t *)right].rank;

	return (a > b) - (a < b);
}

/* Indices of the ranks, by rank; NULL without memory. The caller's to free. */
static size_t *ranks_in_order(const struct model *model)
{
	size_t *order = calloc(model->rank_count + 1, sizeof(*order));

	for (size_t i = 0; order && i < model->rank_count; i++)
		order[i] = i;
	ordered_model = model;
	if (order)
		qsort(order, model->rank_count, sizeof(*order), by_world_rank);
	return order;
}

/* Rows for magnitudes: a third of the screen, or what the ranks leave. */
static int room_for_magnitudes(const struct view_drawing *drawing)
{
	int rows = drawing->bottom - drawing->top,
	    ranks = drawing->model->rank_count < 10000 ? (int)drawing->model->rank_count : 10000;

	return rows - ranks - 1 > rows / 3 ? rows - ranks - 1 : rows / 3;
}

void values_draw(struct view_drawing *drawing)
{
	const struct model *model = drawing->model;

	if (model->all_nodes) {
		canvas_text(drawing->canvas, drawing->top + 1, 2, STYLE_DIM,
			    "not known here: \"rankwatch top\" on a node shows what its ranks brought; NaN");
		canvas_text(drawing->canvas, drawing->top + 2, 2, STYLE_DIM,
			    "and Inf that any node has found are among the findings (view 6)");
		return;
	}
	int head = magnitude_rows_draw(drawing, drawing->top, room_for_magnitudes(drawing));
	int page = drawing->bottom - head - 1;
	size_t first = view_scroll(drawing->view, model->rank_count, page), *order = ranks_in_order(model);
	long last = drawing->at < 0 ? (long)model->column_count - 1 : drawing->at;

	canvas_style_row(drawing->canvas, head, STYLE_HEAD);
	canvas_text(drawing->canvas, head, RANK_AT, STYLE_HEAD, "RANK");
	canvas_text(drawing->canvas, head, SCANS_AT, STYLE_HEAD, "CLEAN SCANS");
	canvas_text(drawing->canvas, head, FIRST_AT, STYLE_HEAD, "FIRST NaN, Inf");
	canvas_text(drawing->canvas, head, STRIP_AT, STYLE_HEAD, "STEP BY STEP, N: NaN or Inf");
	for (size_t i = first; order && i < model->rank_count && i < first + (size_t)(page > 0 ? page : 0); i++)
		draw_row(drawing, head + 1 + (int)(i - first), order[i], last);
	if (order && drawing->view->cursor < model->rank_count)
		drawing->view->under_cursor = model->ranks[order[drawing->view->cursor]].rank;
	free(order);
}
