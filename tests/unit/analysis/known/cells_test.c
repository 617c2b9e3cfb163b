/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "analysis/known/cells.h"

#define SECOND UINT64_C(1000000000)

/* Step n takes the second n. */
static void add(struct cells *cells, uint32_t rank, uint64_t step)
{
	struct cell *cell = cells_at(cells, rank, step, step * SECOND);

	cr_assert(cell);
	cell->own_ms += 1;
	cell->bad += step == 7;
}

static double sum(const struct cells *cells, uint32_t rank)
{
	double own = 0;

	for (size_t i = 0; i < cells->count; i++)
		own += rank < cells->columns[i].rank_count ? (double)cells->columns[i].cells[rank].own_ms : 0;
	return own;
}

Test(cells, each_step_has_a_column_and_ranks_that_tell_of_it_later_find_it)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= 100; step++) {
		add(&cells, 0, step);
		if (step > 1)
			add(&cells, 1, step - 1);
	}
	cr_assert_eq(cells.count, 100);
	for (size_t i = 0; i < cells.count; i++) {
		cr_expect_eq(cells.columns[i].step, i + 1);
		cr_expect_eq(cells.columns[i].last_step, i + 1);
	}
	cr_expect_eq(cells.columns[6].cells[0].bad, 1);
	cr_expect_eq(cells.columns[6].cells[1].bad, 1);
	cr_expect_eq(cells.columns[5].cells[0].bad, 0);
	cells_free(&cells);
}

Test(cells, without_steps_a_column_is_a_second)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t tenth = 10; tenth < 50; tenth++)
		cr_assert(cells_at(&cells, 0, 0, tenth * SECOND / 10));
	cr_expect_eq(cells.count, 4);
	add(&cells, 0, 9);
	cr_expect_eq(cells.count, 5);
	cr_expect_eq(cells.columns[4].step, 9);
	cells_free(&cells);
}

Test(cells, older_steps_are_merged_and_nothing_is_lost)
{
	struct cells cells;
	const uint64_t steps = 3 * CELLS_COLUMNS;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= steps; step++)
		add(&cells, 0, step);
	cr_expect_leq(cells.count, (size_t)CELLS_COLUMNS);
	cr_expect_float_eq(sum(&cells, 0), (double)steps, 0.01);
	for (size_t i = 0; i < cells.count; i++) {
		const struct column *column = &cells.columns[i];
		uint64_t span = column->last_step - column->step + 1;

		cr_expect_eq(span & (span - 1), 0, "%lu steps", (unsigned long)span);
		cr_expect_float_eq(column->cells[0].own_ms, (double)span, 0.01);
		cr_expect_eq(column->step, i ? cells.columns[i - 1].last_step + 1 : 1);
	}
	cr_expect_eq(cells.columns[cells.count - 1].step, cells.columns[cells.count - 1].last_step);
	cells_free(&cells);
}

Test(cells, stay_within_their_limit_however_many_ranks_there_are)
{
	struct cells cells;
	const uint32_t ranks = 16384;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= 400; step++)
		for (uint32_t rank = 0; rank < ranks; rank++)
			cells_at(&cells, rank, step, step * SECOND)->own_ms += 1;
	cr_expect_leq(cells.bytes, (size_t)CELLS_LIMIT + ranks * sizeof(struct cell));
	cr_expect_geq(cells.count, 64);
	cr_expect_float_eq(sum(&cells, ranks - 1), 400, 0.01);
	cells_free(&cells);
}

Test(cells, of_magnitudes_the_larger_is_kept_with_its_rank_when_columns_are_merged)
{
	struct cells cells;
	const uint64_t steps = 2 * CELLS_COLUMNS;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= steps; step++) {
		struct cell_magnitude *magnitude = cells_magnitude_at(&cells, step % 2, step, step * SECOND);

		cr_assert(magnitude);
		*magnitude = (struct cell_magnitude){ .brought = (float)step, .result = (float)(2 * step), .rank = (uint32_t)step };
	}
	cr_assert_leq(cells.count, (size_t)CELLS_COLUMNS);
	for (size_t i = 0; i < cells.count; i++) {
		const struct column *column = &cells.columns[i];

		for (uint32_t line = 0; line < column->line_count; line++) {
			uint64_t newest = column->last_step % 2 == line ? column->last_step : column->last_step - 1;

			if (newest < column->step) {
				cr_expect_eq(column->magnitudes[line].rank, UINT32_MAX);
				continue;
			}
			cr_expect_eq(column->magnitudes[line].rank, newest);
			cr_expect_float_eq(column->magnitudes[line].brought, (float)newest, 0.1);
			cr_expect_float_eq(column->magnitudes[line].result, (float)(2 * newest), 0.1);
		}
	}
	cells_free(&cells);
}

Test(cells, what_comes_too_late_for_its_step_is_counted_with_the_one_before)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	add(&cells, 0, 10);
	add(&cells, 0, 20);
	cr_expect_eq(cells_at(&cells, 0, 15, 15 * SECOND), &cells.columns[0].cells[0]);
	cr_expect_eq(cells_at(&cells, 0, 3, 3 * SECOND), &cells.columns[0].cells[0]);
	cr_expect_eq(cells.count, 2);
	cells_free(&cells);
}

Test(cells, a_rank_whose_steps_are_not_known_yet_does_not_tear_a_step_of_the_others_apart)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	add(&cells, 0, 3);
	cr_assert(cells_at(&cells, 1, 0, 3 * SECOND + 1));
	add(&cells, 2, 3);
	add(&cells, 0, 4);
	cr_expect_eq(cells.count, 3);
	cr_expect_float_eq(cells.columns[0].cells[2].own_ms, 1, 0.01);
	cells_free(&cells);
}

Test(cells, without_steps_the_next_column_begins_a_whole_second_after_the_first_thing_in_it)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	cr_assert(cells_at(&cells, 0, 0, 10 * SECOND));
	cr_assert(cells_at(&cells, 0, 0, 11 * SECOND - 1));
	cr_expect_eq(cells.count, 1);
	cr_expect_eq(cells.columns[0].from_ns, 10 * SECOND);
	cr_expect_eq(cells.columns[0].until_ns, 11 * SECOND - 1);
	cr_assert(cells_at(&cells, 0, 0, 11 * SECOND));
	cr_expect_eq(cells.count, 2);
	cr_expect_eq(cells.columns[1].from_ns, 11 * SECOND);
	cells_free(&cells);
}

Test(cells, a_column_begins_and_ends_with_the_earliest_and_latest_that_is_told_of_it)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	cr_assert(cells_at(&cells, 0, 5, 100));
	cr_assert(cells_at(&cells, 1, 5, 90));
	cr_assert(cells_at(&cells, 2, 5, 95));
	cr_assert(cells_at(&cells, 3, 5, 120));
	cr_assert_eq(cells.count, 1);
	cr_expect_eq(cells.columns[0].from_ns, 90);
	cr_expect_eq(cells.columns[0].until_ns, 120);
	cr_expect_eq(cells.columns[0].changed, 4, "the fourth change");
	cr_expect_eq(cells.changes, 4);
	cr_expect_eq(cells.columns[0].rank_count, 4);
	cells_free(&cells);
}

/* Steps that come by turns with seconds, as while they are found out. */
Test(cells, a_step_is_looked_for_among_the_newest_sixty_four_columns)
{
	for (uint64_t later = 63; later <= 64; later++) {
		struct cells cells;

		cells_open(&cells, CELLS_LIMIT);
		add(&cells, 0, 1);
		for (uint64_t i = 0; i < later; i++)
			cr_assert(cells_at(&cells, 0, 0, (10 + 2 * i) * SECOND));
		cr_assert_eq(cells.count, 1 + later);
		cr_assert(cells_at(&cells, 0, 1, 1000 * SECOND));
		cr_expect_eq(cells.columns[0].until_ns == 1000 * SECOND, later == 63, "%lu columns later", (unsigned long)later);
		cells_free(&cells);
	}
}

Test(cells, what_they_take_is_counted_whatever_is_merged)
{
	struct cells cells;
	size_t bytes = 0;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= 2 * CELLS_COLUMNS; step++) {
		cr_assert(cells_at(&cells, step % 5, step, step * SECOND));
		cr_assert(cells_magnitude_at(&cells, step % 3, step, step * SECOND));
	}
	for (size_t i = 0; i < cells.count; i++)
		bytes += cells.columns[i].rank_count * sizeof(struct cell) +
			 cells.columns[i].line_count * sizeof(struct cell_magnitude);
	cr_expect_eq(cells.bytes, bytes);
	cells_free(&cells);
}

Test(cells, merged_columns_reach_from_the_first_to_the_last_and_are_as_new_as_the_newer)
{
	struct cells cells;

	cells_open(&cells, CELLS_LIMIT);
	for (uint64_t step = 1; step <= CELLS_COLUMNS + 1; step++) {
		struct cell *cell = cells_at(&cells, 0, step, step * SECOND);

		cr_assert(cell);
		*cell = (struct cell){ .own_ms = 1, .wait_ms = 2, .transfer_ms = 3, .unseen_ms = 4, .lost_ms = 5, .bad = 6 };
	}
	cr_assert_eq(cells.count, CELLS_COLUMNS - CELLS_COLUMNS / 4 + 1, "its older half two by two, and a new one");
	for (size_t i = 0; i < CELLS_COLUMNS / 4; i++) {
		const struct column *column = &cells.columns[i];

		cr_expect_eq(column->step, 2 * i + 1);
		cr_expect_eq(column->last_step, 2 * i + 2);
		cr_expect_eq(column->from_ns, (2 * i + 1) * SECOND);
		cr_expect_eq(column->until_ns, (2 * i + 2) * SECOND);
		cr_expect_eq(column->changed, 2 * i + 2);
		cr_expect_float_eq(column->cells[0].own_ms, 2, 1e-6);
		cr_expect_float_eq(column->cells[0].wait_ms, 4, 1e-6);
		cr_expect_float_eq(column->cells[0].transfer_ms, 6, 1e-6);
		cr_expect_float_eq(column->cells[0].unseen_ms, 8, 1e-6);
		cr_expect_float_eq(column->cells[0].lost_ms, 10, 1e-6);
		cr_expect_eq(column->cells[0].bad, 12);
	}
	cr_expect_eq(cells.columns[CELLS_COLUMNS / 4].step, CELLS_COLUMNS / 2 + 1);
	cells_free(&cells);
}

Test(cells, nothing_is_kept_that_nobody_asked_for)
{
	struct cells cells = { 0 };

	cr_expect_null(cells_at(&cells, 0, 1, SECOND));
	cr_expect_null(cells_at(NULL, 0, 1, SECOND));
}
