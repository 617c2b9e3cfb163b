/* SPDX-License-Identifier: MIT */
/* What ranks' time went to by rows, and who is charged for what others waited. */
#include <criterion/criterion.h>

#include "analysis/job/course.h"
#include "analysis/job/world.h"

#define SECOND UINT64_C(1000000000)

static struct course course;

static void setup(void)
{
	course_open(&course);
}

static void teardown(void)
{
	course_free(&course);
}

TestSuite(course, .init = setup, .fini = teardown);

static uint64_t lost_us(uint32_t rank)
{
	return course_rank(&course, rank)->lost_sum_us;
}

static void row(uint32_t rank, uint16_t operations, uint32_t own_us, uint32_t inside_us, uint32_t unseen_us,
		uint64_t now_ns)
{
	const struct world_row row = {
		.own_us = own_us, .inside_us = inside_us, .unseen_us = unseen_us, .operations = operations
	};

	course_note_row(&course, rank, &row, 1, now_ns);
}

static float sum_of(uint32_t place, size_t offset)
{
	float sum = 0;

	for (size_t i = 0; i < course.cells.count; i++)
		if (place < course.cells.columns[i].rank_count)
			sum += *(const float *)((const char *)&course.cells.columns[i].cells[place] + offset);
	return sum;
}

Test(course, the_only_late_one_is_charged_for_all_others)
{
	struct course_late late[] = { { 0, 0 }, { 1, 0 }, { 2, 100 }, { 3, 0 } };

	course_charge(&course, late, 4, SECOND, 2 * SECOND);
	cr_expect_eq(lost_us(2), 300);
	cr_expect_eq(lost_us(0) + lost_us(1) + lost_us(3), 0);
	cr_expect_eq(course_rank(&course, 0)->compared, 4);
}

/* Two waited 100 us, and the second latest 60: 260 in sum, and no more is charged. */
Test(course, what_two_were_late_by_they_share)
{
	struct course_late late[] = { { 0, 0 }, { 1, 40 }, { 2, 100 }, { 3, 0 } };

	course_charge(&course, late, 4, SECOND, 2 * SECOND);
	cr_expect_eq(lost_us(2), 220);
	cr_expect_eq(lost_us(1), 40);

	struct course_late equal[] = { { 4, 100 }, { 5, 100 }, { 6, 0 }, { 7, 0 } };

	course_charge(&course, equal, 4, SECOND, 2 * SECOND);
	cr_expect_eq(lost_us(4), 100);
	cr_expect_eq(lost_us(5), 100);
}

Test(course, the_same_time_is_charged_once)
{
	struct course_late late[] = { { 0, 0 }, { 1, 100 } }, again[] = { { 1, 100 }, { 2, 0 } };

	course_charge(&course, late, 2, 1 * SECOND, 3 * SECOND);
	course_charge(&course, again, 2, 2 * SECOND, 3 * SECOND);
	cr_expect_eq(lost_us(1), 100);
	struct course_late half[] = { { 1, 100 }, { 2, 0 } };
	course_charge(&course, half, 2, 2 * SECOND, 4 * SECOND);
	cr_expect_eq(lost_us(1), 150, "of the second half alone");
}

Test(course, rows_are_differences_in_seconds)
{
	row(5, 1, 1000, 1000, 1000, 10 * SECOND);
	cr_expect_eq(course_rank(&course, 5)->own_sum_us, 0, "the first says nothing");
	row(5, 2, 1001000, 501000, 501000, 12 * SECOND);
	cr_expect_eq(course_rank(&course, 5)->own_sum_us, 1000000);
	cr_expect_eq(course_rank(&course, 5)->inside_sum_us, 500000);
	cr_expect_eq(course_rank(&course, 5)->unseen_sum_us, 500000);
	cr_expect_eq(course_rank(&course, 5)->operation_sum, 1);
	cr_assert_eq(course.cells.count, 2);
	cr_expect_float_eq(course.cells.columns[0].cells[0].own_ms, 500, 0.1);
	cr_expect_float_eq(course.cells.columns[1].cells[0].own_ms, 500, 0.1);
	cr_expect_eq(course.cells.columns[0].from_ns, 10 * SECOND);
	cr_expect_eq(course.cells.columns[1].from_ns, 11 * SECOND);
	cr_expect_float_eq(sum_of(0, offsetof(struct cell, wait_ms)), 500, 0.1);
}

Test(course, totals_wrap_and_come_in_any_order)
{
	row(0, 5, UINT32_MAX - 499999, 0, 0, 10 * SECOND);
	row(0, 6, 500000, 0, 0, 11 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 1000000, "modulo 2^32");
	row(0, 4, UINT32_MAX - 999999, 0, 0, 12 * SECOND);
	row(0, 6, 500000, 0, 0, 12 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 1000000,
		     "one that comes late, and one that comes twice, say nothing");
	row(0, 7, 600000, 0, 0, 12 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 1100000);
	/* Half of what can be told at once or more: that is taken for an earlier time. */
	row(0, 8, 600000 + (UINT32_C(1) << 31), 0, 0, 13 * SECOND);
	row(0, 9, 700000, 0, 0, 14 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 1200000, "and it goes on from where it was");
}

Test(course, another_sender_begins_anew)
{
	const struct world_row other = { .operations = 1, .own_us = 7000000 }, next = { .operations = 2, .own_us = 7200000 };

	row(0, 5, 1000000, 0, 0, 10 * SECOND);
	course_note_row(&course, 0, &other, 2, 11 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 0);
	course_note_row(&course, 0, &next, 2, 12 * SECOND);
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 200000);
	course_begin(&course);
	cr_assert(course_rank(&course, 0), "it keeps its place when the job starts again");
	cr_expect_eq(course_rank(&course, 0)->own_sum_us, 0);
	cr_expect_eq(course_rank(&course, 0)->place, 1);
}

/* However long one row was, it is some cells. */
Test(course, a_long_row_is_spread_coarsely)
{
	row(0, 1, 0, 0, 0, 10 * SECOND);
	row(0, 2, 1800000000, 0, 0, 1810 * SECOND);
	cr_expect_leq(course.cells.count, 62);
	cr_expect_float_eq(sum_of(0, offsetof(struct cell, own_ms)), 1800000, 10);
	cr_expect_null(course_rank(&course, 77));
}
