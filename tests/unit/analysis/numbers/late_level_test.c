/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "analysis/numbers/late_level.h"
#include "analysis/numbers/late_series.h"

/* So short that each part has as many rows as it can. */
enum { RANKS = 8, PART = LATE_LEVEL_ROWS_MAX, ROWS = LATE_LEVEL_PARTS * PART, PIECE = PART / LATE_LEVEL_PIECES };
#define ROW_MS ((double)LATE_LEVEL_PART_MS / PART)

/* By how many hundredths of a per cent of each row two ranks are late: the one that is looked at, and another one. */
struct given {
	const char *what;
	int parts[LATE_LEVEL_PARTS]; /* the first one in each part, the oldest first, … */
	int by_turns;                /* … so much more and less in one piece after the other, … */
	int grows;                   /* … and so much more at the end than at the beginning */
	int other[LATE_LEVEL_PARTS];
	int now_and_then; /* the first one is late in one row of so many, by as many times as much; 0: in all */
	bool paired;      /* the first one has one other to be compared with */
	bool together;    /* both are of one host */
	bool named;       /* the other one is */
	bool late;
};

static int late_in(const struct given *given, uint32_t rank, int row)
{
	int part = row / PART;

	if (rank > 1)
		return 0;
	if (rank == 1)
		return given->other[part];
	if (given->now_and_then)
		return row % given->now_and_then ? 0 : given->parts[part] * given->now_and_then;
	int turn = row / PIECE % 2 ? -given->by_turns : given->by_turns;
	return given->parts[part] + turn + given->grows * row / ROWS - given->grows / 2;
}

static bool is_proven(const struct given *given)
{
	struct late_series series = { 0 };

	cr_assert(late_series_has(&series, RANKS));
	for (uint32_t rank = 0; rank < 2 && given->together; rank++)
		late_series_place(&series, rank, 1);
	late_series_open(&series, 1, given->named);
	for (int row = 0; row < LATE_SERIES_FIRST + ROWS; row++) {
		late_series_begin(&series);
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			int late = late_in(given, rank, row < LATE_SERIES_FIRST ? 0 : row - LATE_SERIES_FIRST);
			double late_ms = late * ROW_MS / 10000;
			late_series_put(&series, rank, late_ms, late_ms, given->paired && !rank ? 2 : RANKS);
		}
		late_series_end(&series);
	}
	bool late = late_level_is_proven(&series, 0, ROW_MS, true);
	for (uint32_t rank = 2; rank < RANKS; rank++)
		cr_expect_not(late_level_is_proven(&series, rank, ROW_MS, true), "%s: rank %u", given->what, rank);
	cr_expect(!late || late_level_lasts(&series, 0, ROW_MS), "%s", given->what);
	late_series_free(&series);
	return late;
}

Test(late_level, who_is_late_in_each_part_or_on_average_by_far_more_than_others_is_found)
{
	static const struct given all[] = {
		{ "three times as late in each part",
		  { 200, 200, 200, 200 },
		  .other = { 66, 66, 66, 66 },
		  .late = true },
		{ "less", { 200, 200, 200, 200 }, .other = { 67, 67, 67, 67 } },
		{ "three times as late in parts that are not alike",
		  { 130, 300, 300, 300 },
		  .other = { 43, 43, 43, 43 },
		  .late = true },
		{ "another one is early by a third",
		  { 200, 200, 200, 200 },
		  .other = { -66, -66, -66, -66 },
		  .late = true },
		{ "by more", { 200, 200, 200, 200 }, .other = { -67, -67, -67, -67 } },
		{ "another one is late and early",
		  { 200, 200, 200, 200 },
		  50,
		  .other = { 110, -110, 110, -110 },
		  .late = true },
		{ "by too much in each part", { 200, 200, 200, 200 }, 50, .other = { 120, -120, 120, -120 } },
		{ "by too much on average", { 200, 200, 200, 200 }, 50, .other = { 110, -110, 110, 110 } },
		{ "it is early by too much", { 200, 200, 200, 200 }, 50, .other = { -110, 110, -110, -110 } },
		{ "not alike, by twice", { 150, 150, 150, 265 }, 80, .other = { 70, -70, 70, -70 }, .late = true },
		{ "not alike, by more", { 150, 150, 150, 300 }, 80, .other = { 70, -70, 70, -70 } },
		{ "it wanders", { 200, 200, 200, 200 }, 10, 130, { 75, -75, 75, -75 } },
		{ "it varies as much and does not wander",
		  { 200, 200, 200, 200 },
		  100,
		  130,
		  { 75, -75, 75, -75 },
		  .late = true },
		{ "too little", { 120, 120, 120, 120 } },
		{ "now and then", { 200, 200, 200, 200 }, .now_and_then = 3 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		cr_expect_eq(is_proven(&all[i]), all[i].late, "%s", all[i].what);
}

Test(late_level, others_that_are_late_too_are_at_fault_or_show_that_it_is_chance)
{
	static const struct given all[] = {
		{ "another one of eight is nearly as late",
		  { 200, 200, 200, 200 },
		  .other = { 190, 190, 190, 190 },
		  .late = true },
		{ "it is later", { 200, 200, 200, 200 }, .other = { 210, 210, 210, 210 } },
		{ "it is later, and of the same host",
		  { 200, 200, 200, 200 },
		  .other = { 210, 210, 210, 210 },
		  .together = true,
		  .late = true },
		{ "one of two", { 490, 490, 490, 490 }, .paired = true },
		{ "one of two, by four times as much", { 510, 510, 510, 510 }, .paired = true, .late = true },
		{ "twice as late as one that is named",
		  { 200, 200, 200, 200 },
		  .other = { 390, 390, 390, 390 },
		  .named = true,
		  .late = true },
		{ "less", { 200, 200, 200, 200 }, .other = { 410, 410, 410, 410 }, .named = true },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		cr_expect_eq(is_proven(&all[i]), all[i].late, "%s", all[i].what);
}

/* Of ranks of several hosts, each on one of its own: that one of a few is later than the others may be chance. */
Test(late_level, of_few_ranks_of_several_hosts_one_must_stand_out_from_how_the_others_differ)
{
	static const struct {
		uint32_t ranks;
		int late, other; /* hundredths of a per cent of each row */
		bool found;
	} all[] = { { 4, 620, 50, false },   { 4, 640, 50, true },  { 4, 1210, 310, false }, { 4, 1210, 300, true },
		    { 8, 500, 160, false },  { 8, 500, 150, true }, { 8, 1210, 380, false }, { 8, 1210, 360, true },
		    { 3, 1190, 31, false },  { 3, 1190, 30, true }, { 3, 1210, 300, false }, { 2, 1190, 0, false } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct late_series series = { 0 };
		cr_assert(late_series_has(&series, all[i].ranks));
		for (uint32_t rank = 0; rank < all[i].ranks; rank++)
			late_series_place(&series, rank, rank + 1);
		for (int row = 0; row < LATE_SERIES_FIRST + ROWS; row++) {
			late_series_begin(&series);
			for (uint32_t rank = 0; rank < all[i].ranks; rank++) {
				double late_ms = (rank ? rank == 1 ? all[i].other : 0 : all[i].late) * ROW_MS / 10000;
				late_series_put(&series, rank, late_ms, late_ms, all[i].ranks);
			}
			late_series_end(&series);
		}
		cr_expect_eq(late_level_is_proven(&series, 0, ROW_MS, true), all[i].found, "%zu", i);
		late_series_free(&series);
	}
}

/* Noise of which much is left a row later shows few independent values. */
Test(late_level, noise_that_lasts_makes_parts_longer)
{
	struct late_series series = { 0 };
	double noise_ms = 0;
	int found = 0;

	cr_assert(late_series_has(&series, RANKS));
	for (int row = 1; row <= LATE_SERIES_FIRST + ROWS && !found; row++) {
		late_series_begin(&series);
		noise_ms = 0.9 * noise_ms + (row * row % 17 - 8) * 0.3;
		for (uint32_t rank = 0; rank < RANKS; rank++) {
			double late_ms = rank ? noise_ms * (rank % 2 ? 1 : -1) : 60;
			late_series_put(&series, rank, late_ms, late_ms, RANKS);
		}
		late_series_end(&series);
		found = late_level_is_proven(&series, 0, 1000, true) ? row : 0;
	}
	cr_expect_gt(late_series_noise_rows(&series, 0), 8, "%f", late_series_noise_rows(&series, 0));
	cr_expect_gt(found, LATE_SERIES_FIRST + LATE_LEVEL_PARTS * LATE_LEVEL_ROWS, "%d", found);
	late_series_free(&series);
}

Test(late_level, the_smaller_of_working_longer_and_being_inside_less_counts_either_way)
{
	static const struct {
		double longer, less, counts;
	} all[] = { { 3, 2, 2 },  { 2, 3, 2 }, { -3, -2, -2 }, { -2, -3, -2 }, { 3, -2, 0 },
		    { -3, 2, 0 }, { 0, 2, 0 }, { 2, 0, 0 },    { 0, -2, 0 },   { -2, 0, 0 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		cr_expect_float_eq(late_level_either_way(all[i].longer, all[i].less), all[i].counts, 1e-12, "%zu", i);
}
