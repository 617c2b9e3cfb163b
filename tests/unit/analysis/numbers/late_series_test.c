/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <math.h>

#include "analysis/numbers/late_series.h"

enum { RANKS = 8, ROW_MS = 150, LATE_MS = 45 };

static struct late_series series;

/* By a few ms either way, in a pattern that never repeats alike for two ranks: what polling a GPU does. */
static double noise_ms(uint32_t rank, uint64_t row)
{
	return 8 * sin((double)row * (1.7 + rank) + rank * rank);
}

static void put(uint32_t rank, double late_ms)
{
	late_series_put(&series, rank, late_ms, late_ms, RANKS);
}

static void begin(void)
{
	late_series_free(&series);
	cr_assert(late_series_has(&series, RANKS));
}

/* As analysis/late/rows.h asks. */
static bool is_found(uint32_t rank)
{
	late_series_end(&series);
	return late_series_is_late(&series, rank, ROW_MS) && late_series_is_proven(&series, rank, ROW_MS);
}

/* One row in which `rank` is late by so much, and the others by noise. Whether it is then taken to be late. */
static bool row_with(uint32_t rank, double late_ms)
{
	late_series_begin(&series);
	for (uint32_t i = 0; i < RANKS; i++)
		put(i, noise_ms(i, series.row) + (i == rank ? late_ms : 0));
	for (uint32_t i = 0; i < RANKS; i++)
		if (i != rank)
			cr_expect_not(is_found(i), "rank %u in row %lu", i, (unsigned long)series.row);
	return is_found(rank);
}

/* In how many rows it is found; 0: in none of `rows`. */
static int rows_until_found(int rows, double late_ms)
{
	for (int i = 1; i <= rows; i++)
		if (row_with(5, late_ms))
			return i;
	return 0;
}

static void calm(int rows)
{
	cr_expect_eq(rows_until_found(rows, 0), 0, "noise names nobody");
}

Test(late_series, a_rank_that_becomes_late_by_a_third_is_found_after_six_rows)
{
	begin();
	calm(12);
	cr_expect_eq(rows_until_found(20, LATE_MS), 6);
}

Test(late_series, what_was_seen_holds_in_proportion_where_rows_become_longer)
{
	begin();
	calm(40);
	late_series_scale(&series, 4);
	cr_expect_eq(rows_until_found(8, LATE_MS), 0, "others were late by nearly as much");
	cr_expect_eq(rows_until_found(8, 0), 0);
	cr_expect_eq(rows_until_found(8, 8 * LATE_MS), 6);
}

Test(late_series, what_costs_less_takes_more_rows)
{
	begin();
	calm(12);
	int rows = rows_until_found(20, 0.19 * ROW_MS);
	cr_expect(rows > 6 && rows <= 10, "%d", rows);
}

Test(late_series, noise_names_nobody_in_a_long_job)
{
	begin();
	calm(2000);
}

Test(late_series, rows_that_are_not_known_before_the_lateness_hide_nothing)
{
	begin();
	calm(12);
	for (int i = 0; i < 9; i++)
		row_with(5, NAN);
	cr_expect_eq(rows_until_found(20, LATE_MS), 6);
}

Test(late_series, a_pause_is_no_lateness)
{
	begin();
	calm(12);
	for (int i = 0; i < 100; i++)
		cr_expect_eq(row_with(5, i % 10 < 5 ? LATE_MS : 0), false, "five rows of ten");
}

Test(late_series, what_was_there_from_the_first_row_on_is_not_looked_for)
{
	begin();
	cr_expect_eq(rows_until_found(100, LATE_MS), 0);
}

Test(late_series, a_rank_is_not_found_where_another_one_was_as_late_before)
{
	begin();
	calm(6);
	for (int i = 0; i < LATE_SERIES_RUN; i++)
		row_with(2, LATE_MS);
	calm(12);
	cr_expect_eq(rows_until_found(30, LATE_MS), 0);
}

Test(late_series, the_first_rows_of_a_job_are_no_measure)
{
	begin();
	row_with(2, 4 * LATE_MS);
	calm(12);
	cr_expect_eq(rows_until_found(20, LATE_MS), 6);
}

/* What polling a GPU every few milliseconds adds to a short step on a busy host: each row is a new draw, and one of 15
 * is later by more than half of the fault. */
static double drawn_ms(uint32_t rank, uint64_t row)
{
	return noise_ms(rank, row) + ((row * 4 + rank * 2) % 15 ? 0 : 30);
}

/* And two more of nearly half of the fault in the rows before it, of the rank that will be late. */
static double drawn_before_ms(uint32_t rank, uint64_t row)
{
	return drawn_ms(rank, row) + (rank == RANKS - 1 && (row == 51 || row == 56) ? 18 : 0);
}

/* What noise that lasts adds: a rank is late by more than half of the fault, and by less in each row that follows; then
 * another one is. */
static double lasting_ms(uint32_t rank, uint64_t row)
{
	return row / 10 % (RANKS - 1) == rank ? 30 * pow(0.65, (double)(row % 10)) : 0;
}

/* The same, but in one row some are far off: the job evaluates. */
static double lasting_beside_a_pause_ms(uint32_t rank, uint64_t row)
{
	return row == 50 ? (rank < 4 ? -300 : 0) : lasting_ms(rank, row);
}

static int rows_until_found_in(double (*noise)(uint32_t, uint64_t), double late_ms)
{
	begin();
	for (int i = 0; i < 90; i++) {
		late_series_begin(&series);
		for (uint32_t k = 0; k < RANKS; k++)
			put(k, noise(k, series.row) + (k == RANKS - 1 && i >= 60 ? late_ms : 0));
		for (uint32_t k = 0; k < RANKS - 1; k++)
			cr_expect_not(is_found(k), "rank %u in row %d", k, i);
		if (is_found(RANKS - 1))
			return i - 59;
	}
	return 0;
}

Test(late_series, single_late_rows_of_others_are_no_measure_where_noise_does_not_last)
{
	int rows = rows_until_found_in(drawn_ms, 55);

	cr_expect(rows >= 6 && rows <= 12, "%d", rows);
}

Test(late_series, nor_do_they_hide_that_this_one_was_hardly_late_before)
{
	int rows = rows_until_found_in(drawn_before_ms, 55);

	cr_expect(rows >= 6 && rows <= 12, "%d", rows);
}

Test(late_series, where_noise_lasts_they_are)
{
	cr_expect_eq(rows_until_found_in(lasting_ms, 55), 0);
	cr_expect_eq(rows_until_found_in(lasting_beside_a_pause_ms, 55), 0);
}

/* What lasts by itself grows before it goes; a fault costs the same from its first row on. */
Test(late_series, what_grows_is_not_taken_for_a_fault)
{
	static const double parts[] = { 0.9, 0.95, 0.95, 1.3, 1.6, 1.7 };

	begin();
	for (int i = 0; i < 30; i++) {
		late_series_begin(&series);
		for (uint32_t k = 0; k < RANKS; k++)
			put(k, k == 5 ? (i < 24 ? 0 : 2 * LATE_MS * parts[i - 24]) : 3 * noise_ms(k, series.row));
		cr_expect_not(is_found(5), "row %d", i);
	}
}

/* It doubles within a row, and lasts, as noise of a heavy tail does; but what lasts by itself changes by more, the
 * larger it is. */
Test(late_series, what_varies_by_more_than_others_do_is_noise)
{
	begin();
	calm(12);
	for (int i = 0; i < 30; i++)
		cr_expect_not(row_with(5, i % 2 ? 3 * LATE_MS : 2 * LATE_MS));
}

Test(late_series, one_row_in_seven_may_be_otherwise)
{
	begin();
	calm(12);
	row_with(5, LATE_MS);
	row_with(5, LATE_MS);
	row_with(5, 0);
	int rows = rows_until_found(20, LATE_MS);
	cr_expect(rows >= 4 && rows <= 6, "%d", rows);
}

Test(late_series, unless_a_finding_explains_that)
{
	begin();
	calm(12);
	for (int i = 0; i < 8; i++) {
		row_with(2, LATE_MS);
		late_series_open(&series, 2, i > 5);
	}
	late_series_open(&series, 2, false);
	for (uint32_t i = 0; i < 12; i++)
		row_with(RANKS - 1, 0);
	cr_expect_eq(rows_until_found(20, LATE_MS), 6);
}

Test(late_series, beside_a_rank_that_is_named_less_than_half_of_it_is_no_finding)
{
	begin();
	calm(12);
	for (int i = 0; i < 30; i++) {
		late_series_begin(&series);
		for (uint32_t k = 0; k < RANKS; k++)
			put(k, noise_ms(k, series.row) + (k == 5 ? 90 : k == 4 ? 30 : 0));
		late_series_open(&series, 5, true);
		late_series_end(&series);
		cr_expect_not(late_series_is_proven(&series, 4, ROW_MS));
	}
}

Test(late_series, a_row_that_is_not_known_proves_nothing)
{
	begin();
	calm(12);
	for (int i = 0; i < 30; i++) {
		late_series_begin(&series);
		for (uint32_t k = 0; k < RANKS; k++)
			if (k != 5 || i % 5)
				put(k, noise_ms(k, series.row) + (k == 5 ? LATE_MS : 0));
		late_series_end(&series);
		cr_expect_not(late_series_is_proven(&series, 5, ROW_MS));
	}
}

Test(late_series, rows_that_are_cut_anew_forget_what_was_seen_but_not_who_is_named)
{
	begin();
	calm(12);
	late_series_open(&series, 3, true);
	late_series_forget(&series);
	cr_expect_eq(series.row, 0);
	cr_expect(series.pasts[3].open);
	cr_expect_eq(late_series_late_ms(&series, 3, 0), 0);
}
