/* SPDX-License-Identifier: MIT */
#include "analysis/known/cells.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, LOOK_BACK = 64 };

void cells_open(struct cells *cells, size_t limit)
{
	*cells = (struct cells){ .limit = limit };
}

static bool has_ranks(struct cells *cells, struct column *column, uint32_t count)
{
	if (count <= column->rank_count)
		return true;
	struct cell *more = realloc(column->cells, count * sizeof(*more));
	if (!more)
		return false;
	memset(more + column->rank_count, 0, (count - column->rank_count) * sizeof(*more));
	cells->bytes += (count - column->rank_count) * sizeof(*more);
	column->cells = more;
	column->rank_count = count;
	return true;
}

static bool has_lines(struct cells *cells, struct column *column, uint32_t count)
{
	if (count <= column->line_count)
		return true;
	struct cell_magnitude *more = realloc(column->magnitudes, count * sizeof(*more));
	if (!more)
		return false;
	for (uint32_t i = column->line_count; i < count; i++)
		more[i] = (struct cell_magnitude){ .rank = UINT32_MAX };
	cells->bytes += (count - column->line_count) * sizeof(*more);
	column->magnitudes = more;
	column->line_count = count;
	return true;
}

static void take_larger(struct cell_magnitude *largest, const struct cell_magnitude *other)
{
	if (other->brought > largest->brought) {
		largest->brought = other->brought;
		largest->rank = other->rank;
	}
	if (other->result > largest->result)
		largest->result = other->result;
}

static void add_cell(struct cell *sum, const struct cell *other)
{
	sum->own_ms += other->own_ms;
	sum->wait_ms += other->wait_ms;
	sum->transfer_ms += other->transfer_ms;
	sum->unseen_ms += other->unseen_ms;
	sum->lost_ms += other->lost_ms;
	sum->bad += other->bad;
	sum->outside += other->outside;
}

/* Takes what the later one holds. Who knows the two of them need not hear of it. */
static void absorb(struct cells *cells, struct column *column, struct column *later)
{
	if (!has_ranks(cells, column, later->rank_count) || !has_lines(cells, column, later->line_count))
		return;
	for (uint32_t i = 0; i < later->rank_count; i++)
		add_cell(&column->cells[i], &later->cells[i]);
	for (uint32_t i = 0; i < later->line_count; i++)
		take_larger(&column->magnitudes[i], &later->magnitudes[i]);
	if (!column->step)
		column->step = later->step;
	if (later->last_step)
		column->last_step = later->last_step;
	if (later->until_ns > column->until_ns)
		column->until_ns = later->until_ns;
	if (later->changed > column->changed)
		column->changed = later->changed;
}

static void drop(struct cells *cells, struct column *column)
{
	cells->bytes -= column->rank_count * sizeof(*column->cells) + column->line_count * sizeof(*column->magnitudes);
	free(column->cells);
	free(column->magnitudes);
}

static void merge_older(struct cells *cells)
{
	size_t half = cells->count / 2 & ~(size_t)1, kept = 0;

	for (size_t i = 0; i < half; i += 2) {
		absorb(cells, &cells->columns[i], &cells->columns[i + 1]);
		drop(cells, &cells->columns[i + 1]);
		cells->columns[kept++] = cells->columns[i];
	}
	memmove(cells->columns + kept, cells->columns + half, (cells->count - half) * sizeof(*cells->columns));
	cells->count -= half - kept;
}

static bool has_room(struct cells *cells)
{
	if (cells->count < cells->room)
		return true;
	size_t room = cells->room ? cells->room * 2 : FIRST_ROOM;
	struct column *columns = realloc(cells->columns, room * sizeof(*columns));
	if (!columns)
		return false;
	cells->columns = columns;
	cells->room = room;
	return true;
}

/* rank_count: as many as the newest has, so that the limit holds when all of them come. */
static struct column *append(struct cells *cells, uint64_t step, uint64_t at_ns)
{
	uint32_t ranks = cells->count ? cells->columns[cells->count - 1].rank_count : 0;

	if (cells->count >= CELLS_COLUMNS ||
	    (cells->bytes + ranks * sizeof(struct cell) > cells->limit && cells->count >= CELLS_COLUMNS_LEAST))
		merge_older(cells);
	if (!has_room(cells))
		return NULL;
	struct column *column = &cells->columns[cells->count];
	*column = (struct column){ .step = step, .last_step = step, .from_ns = at_ns, .until_ns = at_ns };
	if (!has_ranks(cells, column, ranks))
		return NULL;
	cells->count++;
	return column;
}

static bool holds(const struct column *column, uint64_t step, uint64_t at_ns)
{
	if (step)
		return column->step && step >= column->step && step <= column->last_step;
	return !column->step && at_ns >= column->from_ns && at_ns < column->from_ns + CELLS_SECOND_NS;
}

static bool is_before(const struct column *column, uint64_t step, uint64_t at_ns)
{
	return step && column->last_step ? column->last_step < step : column->from_ns <= at_ns;
}

/* Ranks tell of a step at almost the same time: it is one of the newest. What comes too late for any goes to the last
 * one before it. */
static struct column *find(struct cells *cells, uint64_t step, uint64_t at_ns)
{
	/* While steps are being found out, one rank's are known and another's are not: both kinds lie side by side. */
	for (size_t i = cells->count; i > 0 && cells->count - i < LOOK_BACK; i--)
		if (holds(&cells->columns[i - 1], step, at_ns))
			return &cells->columns[i - 1];
	for (size_t i = cells->count; i > 0; i--)
		if (is_before(&cells->columns[i - 1], step, at_ns))
			return i == cells->count ? append(cells, step, at_ns) : &cells->columns[i - 1];
	return cells->count ? &cells->columns[0] : append(cells, step, at_ns);
}

static struct column *column_at(struct cells *cells, uint64_t step, uint64_t at_ns)
{
	struct column *column = cells && cells->limit ? find(cells, step, at_ns) : NULL;

	if (!column)
		return NULL;
	if (at_ns < column->from_ns)
		column->from_ns = at_ns;
	if (at_ns > column->until_ns)
		column->until_ns = at_ns;
	column->changed = ++cells->changes;
	return column;
}

struct cell *cells_at(struct cells *cells, uint32_t rank, uint64_t step, uint64_t at_ns)
{
	struct column *column = column_at(cells, step, at_ns);

	return column && has_ranks(cells, column, rank + 1) ? &column->cells[rank] : NULL;
}

struct cell_magnitude *cells_magnitude_at(struct cells *cells, uint32_t line, uint64_t step, uint64_t at_ns)
{
	struct column *column = column_at(cells, step, at_ns);

	return column && has_lines(cells, column, line + 1) ? &column->magnitudes[line] : NULL;
}

void cells_free(struct cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		drop(cells, &cells->columns[i]);
	free(cells->columns);
	*cells = (struct cells){ 0 };
}
