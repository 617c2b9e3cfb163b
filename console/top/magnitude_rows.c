/* SPDX-License-Identifier: MIT */
#include "console/top/magnitude_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "console/top/communicator_label.h"

enum { NAME_AT = 1, NAME = 18, NOW_AT = 20, RANK_AT = 30, FIRST_AT = 36, STRIP_AT = 46 };
#define LEAST_RANGE 6.0 /* binades from the bottom to the top of a strip: noise stays flat */

/* One communicator, up to the moment that is looked at. */
struct line {
	size_t index; /* in the model */
	float now, first, least, most;
	int32_t rank; /* that brought `now`; -1 not known */
};

/* What its ranks brought; where that is gone (reduced in place) what came of it. */
static float largest_of(const struct model_column *column, size_t line)
{
	if (line >= column->line_count)
		return 0;
	return column->magnitudes[line].brought > 0 ? column->magnitudes[line].brought
						    : column->magnitudes[line].result;
}

static struct line line_until(const struct model *model, size_t index, long last)
{
	struct line line = { .index = index, .rank = -1 };

	for (long i = 0; i <= last; i++) {
		float value = largest_of(&model->columns[i], index);

		if (value <= 0)
			continue;
		line.now = value;
		line.rank =
		    model->columns[i].magnitudes[index].brought > 0 ? model->columns[i].magnitudes[index].rank : -1;
		line.first = line.first > 0 ? line.first : value;
		line.least = line.least > 0 ? fminf(line.least, value) : value;
		line.most = fmaxf(line.most, value);
	}
	return line;
}

static int by_growth(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	float one = a->now / a->first, other = b->now / b->first;

	if (one != other)
		return one < other ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static void draw_strip(struct view_drawing *drawing, int row, const struct line *line, long last)
{
	int width = drawing->canvas->width - STRIP_AT;
	double range = fmax(log2((double)line->most) - log2((double)line->least), LEAST_RANGE);

	for (int i = 0; i < width; i++) {
		long at = last - width + 1 + i;
		float value = at >= 0 ? largest_of(&drawing->model->columns[at], line->index) : 0;

		if (value > 0)
			canvas_spark(drawing->canvas, row, STRIP_AT + i, STYLE_GOOD,
				     (log2((double)value) - log2((double)line->least)) / range);
	}
}

static void draw_line(struct view_drawing *drawing, int row, const struct line *line, long last)
{
	struct canvas *canvas = drawing->canvas;

	const struct model_line *whose = &drawing->model->lines[line->index];
	char label[MODEL_NAME + 160];

	canvas_cut(canvas, row, NAME_AT, NAME, STYLE_PLAIN,
		   communicator_label(drawing->model, whose->id, whose->name, label, sizeof(label)));
	canvas_print(canvas, row, NOW_AT, STYLE_BOLD, "%9.3g", (double)line->now);
	if (line->rank >= 0)
		canvas_print(canvas, row, RANK_AT, STYLE_PLAIN, "%5d", line->rank);
	canvas_print(canvas, row, FIRST_AT, STYLE_PLAIN, "%9.3g", (double)line->first);
	draw_strip(drawing, row, line, last);
}

static void draw_head(struct view_drawing *drawing, int row, size_t shown, size_t count)
{
	struct canvas *canvas = drawing->canvas;
	char name[64] = "LARGEST IN";

	if (shown < count || drawing->model->more_lines)
		snprintf(name, sizeof(name), "LARGEST IN %zu/%zu%s", shown, count,
			 drawing->model->more_lines ? "+" : "");
	canvas_style_row(canvas, row, STYLE_HEAD);
	canvas_cut(canvas, row, NAME_AT, NAME, STYLE_HEAD, name);
	canvas_text(canvas, row, NOW_AT, STYLE_HEAD, "MAGNITUDE");
	canvas_text(canvas, row, RANK_AT, STYLE_HEAD, " RANK");
	canvas_text(canvas, row, FIRST_AT, STYLE_HEAD, " AT FIRST");
	canvas_text(canvas, row, STRIP_AT, STYLE_HEAD, "BY STEP, each on its own scale");
}

int magnitude_rows_draw(struct view_drawing *drawing, int row, int most)
{
	const struct model *model = drawing->model;
	long last = drawing->at < 0 ? (long)model->column_count - 1 : drawing->at;
	struct line lines[MODEL_LINES];
	size_t count = 0, shown;

	for (size_t i = 0; i < model->line_count; i++) {
		lines[count] = line_until(model, i, last);
		count += lines[count].now > 0;
	}
	if (!count || most < 2)
		return row;
	qsort(lines, count, sizeof(*lines), by_growth);
	shown = count < (size_t)most - 1 ? count : (size_t)most - 1;
	draw_head(drawing, row++, shown, count);
	for (size_t i = 0; i < shown; i++)
		draw_line(drawing, row++, &lines[i], last);
	return row;
}
