/* SPDX-License-Identifier: MIT */
#include "console/html/heat.h"

#include <stdlib.h>
#include <string.h>

void heat_begin(struct heat *heat, size_t ranks, uint64_t from_ns)
{
	heat->columns = HEAT_COLUMNS;
	while (heat->columns > HEAT_COLUMNS_MIN && (uint64_t)heat->columns * ranks > HEAT_MOST)
		heat->columns /= 2;
	heat->from_ns = from_ns;
	heat->bucket_ns = HEAT_FINEST_NS;
}

static bool make_row(struct heat *heat, struct heat_row *row)
{
	uint32_t *us = calloc((size_t)heat->columns * HEAT_KINDS, sizeof(*us));

	*row = (struct heat_row){ .world_rank = -1 };
	for (size_t kind = 0; us && kind < HEAT_KINDS; kind++)
		row->us[kind] = us + kind * heat->columns;
	return us;
}

struct heat_row *heat_row(struct heat *heat, uint32_t number)
{
	while (number >= heat->row_count) {
		struct heat_row *rows = reallocarray(heat->rows, heat->row_count + 1, sizeof(*rows));

		if (rows)
			heat->rows = rows;
		if (!rows || !make_row(heat, &rows[heat->row_count])) {
			heat->no_memory = true;
			return NULL;
		}
		heat->row_count++;
	}
	return &heat->rows[number];
}

static void halve(uint32_t *us, uint32_t columns)
{
	for (uint32_t i = 0; i < columns / 2; i++)
		us[i] = us[2 * i] + us[2 * i + 1];
	memset(us + columns / 2, 0, columns / 2 * sizeof(*us));
}

static void merge(struct heat *heat)
{
	for (uint32_t row = 0; row < heat->row_count; row++)
		for (size_t kind = 0; kind < HEAT_KINDS; kind++)
			halve(heat->rows[row].us[kind], heat->columns);
	heat->used = (heat->used + 1) / 2;
	heat->bucket_ns *= 2;
}

/* Of several waits at a time the longest counts, for the others are of the same lateness. */
static void put(uint32_t *cell, enum heat_kind kind, uint64_t ns)
{
	uint32_t us = (uint32_t)(ns / 1000);

	if (kind != HEAT_LATE)
		*cell += us;
	else if (us > *cell)
		*cell = us;
}

void heat_add(struct heat *heat, uint32_t number, enum heat_kind kind, uint64_t from_ns, uint64_t until_ns)
{
	struct heat_row *row = heat_row(heat, number);

	if (!row || until_ns <= from_ns)
		return;
	if (kind != HEAT_LATE) {
		row->total_ns[kind] += until_ns - from_ns;
		row->until_ns = until_ns > row->until_ns ? until_ns : row->until_ns;
	}
	if (from_ns < heat->from_ns)
		from_ns = heat->from_ns;
	if (until_ns <= from_ns)
		return;
	while ((until_ns - heat->from_ns) / heat->bucket_ns >= heat->columns)
		merge(heat);
	while (from_ns < until_ns) {
		uint64_t column = (from_ns - heat->from_ns) / heat->bucket_ns;
		uint64_t end_ns = heat->from_ns + (column + 1) * heat->bucket_ns;

		if (end_ns > until_ns)
			end_ns = until_ns;
		put(&row->us[kind][column], kind, end_ns - from_ns);
		if (column >= heat->used)
			heat->used = (uint32_t)column + 1;
		from_ns = end_ns;
	}
}

void heat_free(struct heat *heat)
{
	for (uint32_t i = 0; i < heat->row_count; i++)
		free(heat->rows[i].us[0]);
	free(heat->rows);
	*heat = (struct heat){ 0 };
}
