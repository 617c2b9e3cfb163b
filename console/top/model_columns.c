/* SPDX-License-Identifier: MIT */
#include "console/top/model_columns.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/field.h"

static size_t bytes_of(const struct model_column *column)
{
	return column->rank_count * sizeof(*column->cells) + column->line_count * sizeof(*column->magnitudes);
}

static void free_parts(struct model_column *column)
{
	free(column->cells);
	free(column->magnitudes);
}

void model_columns_drop(struct model *model, size_t at)
{
	model->column_bytes -= bytes_of(&model->columns[at]);
	free_parts(&model->columns[at]);
	model->column_count--;
	memmove(&model->columns[at], &model->columns[at + 1], (model->column_count - at) * sizeof(*model->columns));
}

static bool covers(const struct model_column *new, const struct model_column *old)
{
	if (new->step && old->step)
		return old->step >= new->step && old->step <= new->last_step;
	return new->step == old->step && new->from_ms == old->from_ms;
}

/* Where it belongs; what it holds the news of goes. Changes are in the newest ones. */
static size_t place_for(struct model *model, const struct model_column *new)
{
	size_t at = model->column_count;

	while (at > 0 && (covers(new, &model->columns[at - 1]) || model->columns[at - 1].from_ms > new->from_ms)) {
		at--;
		if (covers(new, &model->columns[at]))
			model_columns_drop(model, at);
	}
	return at;
}

static void insert_column(struct model *model, struct model_column *new)
{
	size_t at = place_for(model, new);

	while (model->column_count > 1 && model->column_bytes + bytes_of(new) > MODEL_CELLS_BYTES) {
		model_columns_drop(model, 0);
		at -= at > 0;
	}
	if (model->column_count == model->column_room) {
		size_t room = model->column_room ? model->column_room * 2 : 256;
		struct model_column *columns = realloc(model->columns, room * sizeof(*columns));

		if (!columns) {
			free_parts(new);
			return;
		}
		model->columns = columns;
		model->column_room = room;
	}
	memmove(&model->columns[at + 1], &model->columns[at], (model->column_count - at) * sizeof(*model->columns));
	model->columns[at] = *new;
	model->column_count++;
	model->column_bytes += bytes_of(new);
}

/* The model's line of that communicator; MODEL_LINES: there is no more room. */
static size_t line_of(struct model *model, const char *id)
{
	for (size_t i = 0; i < model->line_count; i++)
		if (!strcmp(model->lines[i].id, id))
			return i;
	if (model->line_count == MODEL_LINES) {
		model->more_lines = true;
		return MODEL_LINES;
	}
	snprintf(model->lines[model->line_count].id, sizeof(model->lines[0].id), "%s", id);
	return model->line_count++;
}

/* Into `places`: which of the model's lines each of the message's is. Another collector may have them in another order.
 */
static size_t take_lines(struct model *model, const json_t *cells, size_t places[MODEL_LINES])
{
	size_t count = json_array_size(field_get(cells, "lines"));

	model->more_lines |= json_is_true(field_get(cells, "more_lines")) || count > MODEL_LINES;
	count = count < MODEL_LINES ? count : MODEL_LINES;
	for (size_t i = 0; i < count; i++) {
		const json_t *line = json_array_get(field_get(cells, "lines"), i);
		char id[24];

		field_copy(id, sizeof(id), field_get(line, "comm"));
		places[i] = line_of(model, id);
		if (places[i] < MODEL_LINES)
			field_copy(model->lines[places[i]].name, MODEL_NAME, field_get(line, "name"));
	}
	return count;
}

static float part_of(const json_t *row, const char *key, size_t at)
{
	double value = json_number_value(json_array_get(field_get(row, key), at));

	return value > 0 && value < 1e15 ? (float)value : 0;
}

static float magnitude_of(const json_t *magnitudes, const char *key, size_t at)
{
	double value = json_number_value(json_array_get(field_get(magnitudes, key), at));

	return value > 0 && value <= (double)FLT_MAX ? (float)value : 0;
}

static int32_t rank_of(const json_t *magnitudes, size_t at)
{
	const json_t *rank = json_array_get(field_get(magnitudes, "by"), at);
	json_int_t number = json_integer_value(rank);

	return json_is_integer(rank) && number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

static void take_magnitudes(struct model_column *column, const json_t *row, const size_t *places, size_t count)
{
	const json_t *magnitudes = field_get(row, "magnitudes");

	if (!json_is_object(magnitudes))
		return;
	column->magnitudes = calloc(MODEL_LINES, sizeof(*column->magnitudes));
	column->line_count = column->magnitudes ? MODEL_LINES : 0;
	for (size_t i = 0; column->magnitudes && i < count; i++)
		if (places[i] < MODEL_LINES)
			column->magnitudes[places[i]] = (struct model_magnitude){
				.brought = magnitude_of(magnitudes, "brought", i),
				.result = magnitude_of(magnitudes, "result", i),
				.rank = rank_of(magnitudes, i),
			};
}

static void take_column(struct model *model, const json_t *row, size_t ranks, const size_t *places, size_t lines)
{
	struct model_column column = {
		.step = (uint64_t)field_integer(row, "step", 0),
		.last_step = (uint64_t)field_integer(row, "last_step", 0),
		.from_ms = field_number(row, "from_unix_ms", 0),
		.until_ms = field_number(row, "until_unix_ms", 0),
		.rank_count = ranks,
		.cells = calloc(ranks + 1, sizeof(struct model_cell)),
	};

	if (!column.cells)
		return;
	for (size_t i = 0; i < ranks; i++)
		column.cells[i] = (struct model_cell){
			.own_ms = part_of(row, "own_ms", i),
			.wait_ms = part_of(row, field_get(row, "inside_ms") ? "inside_ms" : "wait_ms", i),
			.transfer_ms = part_of(row, "transfer_ms", i),
			.unseen_ms = part_of(row, "unseen_ms", i),
			.lost_ms = part_of(row, "lost_ms", i),
			.bad = (uint32_t)json_integer_value(json_array_get(field_get(row, "bad"), i)),
		};
	take_magnitudes(&column, row, places, lines);
	insert_column(model, &column);
}

void model_columns_take(struct model *model, const json_t *cells)
{
	size_t ranks = json_array_size(field_get(cells, "ranks")), places[MODEL_LINES], i;
	size_t lines = take_lines(model, cells, places);
	const json_t *column;

	json_array_foreach(field_get(cells, "columns"), i, column) take_column(model, column, ranks, places, lines);
}
