/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "console/html/heat.h"
#include "console/html/page.h"
#include "console/html/step_series.h"

/* Ranks over time */

static const uint64_t BEGIN = UINT64_C(1000000000), MS = 1000000;

static uint64_t sum_us(const struct heat *heat, uint32_t row, enum heat_kind kind)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < heat->columns; i++)
		sum += heat->rows[row].us[kind][i];
	return sum;
}

Test(heat, a_stretch_is_in_each_bucket_for_as_long_as_it_lasts_there)
{
	struct heat heat = { 0 };

	heat_begin(&heat, 8, BEGIN);
	cr_assert_eq(heat.bucket_ns, 5 * MS);
	heat_add(&heat, 2, HEAT_WAIT, BEGIN + 3 * MS, BEGIN + 12 * MS);
	cr_expect_eq(heat.row_count, 3);
	cr_expect_eq(heat.used, 3);
	cr_expect_eq(heat.rows[2].us[HEAT_WAIT][0], 2000);
	cr_expect_eq(heat.rows[2].us[HEAT_WAIT][1], 5000);
	cr_expect_eq(heat.rows[2].us[HEAT_WAIT][2], 2000);
	cr_expect_eq(heat.rows[2].total_ns[HEAT_WAIT], 9 * MS);
	heat_free(&heat);
}

Test(heat, outgrown_columns_are_merged_and_nothing_is_lost)
{
	struct heat heat = { 0 };

	heat_begin(&heat, 8, BEGIN);
	for (uint64_t i = 0; i < 60000; i++)
		heat_add(&heat, i % 2, i % 3 ? HEAT_OWN : HEAT_WAIT, BEGIN + i * 7 * MS, BEGIN + (i + 1) * 7 * MS);
	cr_expect_leq(heat.used, heat.columns);
	cr_expect_gt(heat.used, heat.columns / 2, "no more was merged than had to be: %u of %u", heat.used,
		     heat.columns);
	cr_expect_eq(sum_us(&heat, 0, HEAT_OWN) + sum_us(&heat, 0, HEAT_WAIT), 30000 * 7000);
	cr_expect_eq(sum_us(&heat, 1, HEAT_WAIT), 10000 * 7000);
	heat_free(&heat);
}

Test(heat, of_waits_for_one_rank_at_a_time_the_longest_is_its_lateness)
{
	struct heat heat = { 0 };

	heat_begin(&heat, 8, BEGIN);
	for (uint64_t waiter = 0; waiter < 7; waiter++)
		heat_add(&heat, 5, HEAT_LATE, BEGIN + waiter * 100000, BEGIN + 4 * MS);
	cr_expect_eq(heat.rows[5].us[HEAT_LATE][0], 4000);
	cr_expect_eq(heat.rows[5].until_ns, 0, "others' waits are no time of its own");
	heat_free(&heat);
}

Test(heat, what_lies_before_its_begin_is_cut_and_a_large_job_has_fewer_columns)
{
	struct heat heat = { 0 };

	heat_begin(&heat, 16384, BEGIN);
	cr_expect_eq(heat.columns, HEAT_COLUMNS_MIN);
	heat_add(&heat, 0, HEAT_OWN, 0, BEGIN + 2 * MS);
	heat_add(&heat, 0, HEAT_OWN, 0, BEGIN);
	cr_expect_eq(sum_us(&heat, 0, HEAT_OWN), 2000);
	heat_add(&heat, 0, HEAT_OWN, BEGIN, INT64_MAX);
	cr_expect_leq(heat.used, heat.columns, "a damaged time ends, too");
	heat_free(&heat);
}

/* Steps */

Test(steps, last_from_the_earliest_that_a_rank_was_in_one_to_the_next)
{
	struct step_series series = { 0 };

	step_series_note(&series, 7, 1000);
	step_series_note(&series, 7, 900);
	step_series_note(&series, 0, 1);
	step_series_note(&series, 3, 100);
	step_series_note(&series, 8, 1500);
	step_series_note(&series, 10, 1700);
	step_series_note(&series, 7 + STEP_SERIES_MOST, 1800);
	cr_expect_eq(series.first, 7);
	cr_expect_eq(series.count, 4);
	cr_expect_eq(step_series_duration_ns(&series, 0), 600);
	cr_expect_eq(step_series_duration_ns(&series, 1), 0, "nobody saw step 9");
	cr_expect_eq(step_series_duration_ns(&series, 3), 0, "the last has no end");
	step_series_free(&series);
}

/* The page */

static char *page_of(const char *name)
{
	json_t *data = json_pack("{s:[s, {s:s}]}", "names", name, "inside", name);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(page_write(out, data), 0);
	fclose(out);
	json_decref(data);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		count++;
	return count;
}

Test(page, texts_of_a_job_end_neither_the_data_nor_a_line)
{
	char *plain = page_of("job"), *text = page_of("</script><!--<script>&\xe2\x80\xa8\xe2\x80\xae\x01");

	cr_expect_eq(count_of(text, "</script"), count_of(plain, "</script"));
	cr_expect_eq(count_of(text, "<!--"), count_of(plain, "<!--"));
	cr_expect_eq(count_of(text, "<script"), count_of(plain, "<script"));
	cr_expect_eq(count_of(text, "\xe2\x80\xa8"), 0);
	cr_expect_eq(
	    count_of(
		text,
		"\\u003c/"
		"script\\u003e\\u003c!--\\u003cscript\\u003e\\u0026\\\\xe2\\\\x80\\\\xa8\\\\xe2\\\\x80\\\\xae\\\\x01"),
	    2, "in arrays and objects");
	free(plain);
	free(text);
}

Test(page, nothing_but_its_own_parts_may_run)
{
	char *text = page_of("job");

	cr_expect(strstr(text, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
	cr_expect(strstr(text, "script-src 'sha256-"));
	cr_expect_not(strstr(text, "unsafe-inline"));
	cr_expect_not(strstr(text, "http://www.") && !strstr(text, "http://www.w3.org/2000/svg"));
	cr_expect_not(strstr(text, "{{"));
	cr_expect_not(strstr(text, "innerHTML"));
	free(text);
}
