/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/foreign_text.h"
#include "console/top/finding_lines.h"
#include "console/top/ranking.h"
#include "console/top/view.h"

enum { LINES = 12 /* of the chosen one */ };

/* Open ones first, the worst of them first; then by time. */
struct order {
	const struct model_finding *finding;
	bool open;
};

static int by_weight(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->open != b->open)
		return a->open ? -1 : 1;
	if (a->finding->severity != b->finding->severity)
		return b->finding->severity - a->finding->severity;
	return (a->finding->first_ms > b->finding->first_ms) - (a->finding->first_ms < b->finding->first_ms);
}

static void draw_piece(struct view_drawing *drawing, int row, const json_t *piece)
{
	const char *source = json_string_value(json_object_get(piece, "source"));
	const char *what = json_string_value(json_object_get(piece, "what"));
	const json_t *ms = json_object_get(piece, "ms");
	char took[32] = "", line[512], *escaped;

	if (json_is_number(ms))
		view_duration(took, sizeof(took), json_number_value(ms));
	snprintf(line, sizeof(line), "%s%s%s  (%s)", what ? what : "", *took ? ", " : "", took, source ? source : "?");
	escaped = foreign_text(line);
	canvas_text(drawing->canvas, row, 1, STYLE_DIM, "  seen");
	canvas_cut(drawing->canvas, row, 12, drawing->canvas->width - 12, STYLE_PLAIN, escaped ? escaped : "");
	free(escaped);
}

/* Returns the rows that it took. */
static int draw_evidence(struct view_drawing *drawing, int row, const json_t *finding)
{
	const json_t *evidence = json_object_get(finding, "evidence");
	int taken = 0;

	for (size_t i = 0; i < json_array_size(evidence) && row + taken < drawing->bottom; i++)
		draw_piece(drawing, row + taken++, json_array_get(evidence, i));
	return taken;
}

/* Those that had been seen by the moment that is looked at. */
static size_t collect(const struct view_drawing *drawing, struct order *orders)
{
	const struct model *model = drawing->model;
	double at_ms = drawing->at < 0 && !model->dead ? drawing->now_ms : model_time(model, drawing->at);
	size_t count = 0;

	for (size_t i = 0; i < model->finding_count; i++)
		if (model->findings[i].first_ms <= at_ms)
			orders[count++] =
			    (struct order){ &model->findings[i], ranking_is_open(&model->findings[i], at_ms) };
	qsort(orders, count, sizeof(*orders), by_weight);
	return count;
}

void findings_draw(struct view_drawing *drawing)
{
	const struct model *model = drawing->model;
	struct order *orders = calloc(model->finding_count + 1, sizeof(*orders));
	size_t count = orders ? collect(drawing, orders) : 0;
	double at_ms = drawing->at < 0 && !model->dead ? drawing->now_ms : model_time(model, drawing->at);
	size_t first = view_scroll(drawing->view, count, (drawing->bottom - drawing->top) / 4);
	int row = drawing->top + 1;

	canvas_style_row(drawing->canvas, drawing->top, STYLE_HEAD);
	canvas_print(drawing->canvas, drawing->top, 1, STYLE_HEAD, "FINDINGS  %zu so far; open ones first", count);
	for (size_t i = first; i < count && row < drawing->bottom; i++) {
		bool chosen = i == drawing->view->cursor;
		int left = drawing->bottom - row;

		if (chosen)
			canvas_text(drawing->canvas, row, 0, STYLE_CHOSEN, "▸");
		row += finding_lines_draw(drawing->canvas, row, left < LINES ? left : LINES, orders[i].finding, at_ms,
					  chosen || model->dead);
		if (chosen)
			row += draw_evidence(drawing, row, orders[i].finding->json);
		row++;
	}
	if (!count)
		canvas_text(drawing->canvas, drawing->top + 2, 2, STYLE_GOOD, "nothing was found");
	free(orders);
}
