/* SPDX-License-Identifier: MIT */
#include "console/top/model_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/top/field.h"

void model_columns_drop(struct model *model, size_t at)
{
	model->column_bytes -= model->columns[at].rank_count * sizeof(struct model_cell);
	free(model->columns[at].cells);
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

static void insert_column(struct model *model, const struct model_column *new)
{
	size_t at = place_for(model, new);

	while (model->column_count > 1 && model->column_bytes + new->rank_count * sizeof(struct model_cell) > MODEL_CELLS_BYTES) {
		model_columns_drop(model, 0);
		at -= at > 0;
	}
	if (model->column_count == model->column_room) {
		size_t room = model->column_room ? model->column_room * 2 : 256;
		struct model_column *columns = realloc(model->columns, room * sizeof(*columns));

		if (!columns) {
			free(new->cells);
			return;
		}
		model->columns = columns;
		model->column_room = room;
	}
	memmove(&model->columns[at + 1], &model->columns[at], (model->column_count - at) * sizeof(*model->columns));
	model->columns[at] = *new;
	model->column_count++;
	model->column_bytes += new->rank_count * sizeof(struct model_cell);
}

static float part_of(const json_t *row, const char *key, size_t at)
{
	double value = json_number_value(json_array_get(field_get(row, key), at));

	return value > 0 && value < 1e15 ? (float)value : 0;
}

static void take_column(struct model *model, const json_t *row, size_t ranks)
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
			.wait_ms = part_of(row, "wait_ms", i),
			.transfer_ms = part_of(row, "transfer_ms", i),
			.unseen_ms = part_of(row, "unseen_ms", i),
			.lost_ms = part_of(row, "lost_ms", i),
			.bad = (uint32_t)json_integer_value(json_array_get(field_get(row, "bad"), i)),
		};
	insert_column(model, &column);
}

void model_columns_take(struct model *model, const json_t *cells)
{
	size_t ranks = json_array_size(field_get(cells, "ranks")), i;
	const json_t *column;

	json_array_foreach(field_get(cells, "columns"), i, column) take_column(model, column, ranks);
}
