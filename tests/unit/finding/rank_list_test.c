/* SPDX-License-Identifier: MIT */
/* The analysis, which links nothing, and everybody else write lists of ranks by one rule. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report/naming.h"
#include "finding/rank_list.h"

#define RANKS(...) (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)

static const struct {
	const int32_t *ranks;
	size_t count;
	const char *text;
} lists[] = {
	{ RANKS(7), "7" },
	{ RANKS(0, 1), "0,1" },
	{ RANKS(0, 1, 2), "0-2" },
	{ RANKS(1, 2, 3, 4, 5, 6, 7), "1-7" },
	{ RANKS(0, 1, 3, 4, 5, 6, 7), "0,1,3-7" },
	{ RANKS(0, 2, 4, 5, 6), "0,2,4-6" },
	{ RANKS(0, 1, 2, 3, 5, 6, 9), "0-3,5,6,9" },
	{ RANKS(INT32_MAX - 1, INT32_MAX), "2147483646,2147483647" },
};

Test(rank_list, three_in_a_row_become_a_range_and_two_do_not)
{
	char text[64];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		cr_expect_str_eq(rank_list_text(text, sizeof(text), lists[i].ranks, lists[i].count), lists[i].text);
	cr_expect_str_eq(rank_list_text(text, sizeof(text), NULL, 0), "");
}

Test(rank_list, the_analysis_writes_the_same)
{
	char text[64], expected[80];

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(expected, sizeof(expected), "rank%s %s", lists[i].count == 1 ? "" : "s", lists[i].text);
		cr_expect_str_eq(naming_ranks(text, sizeof(text), lists[i].ranks, lists[i].count), expected);
	}
}

Test(rank_list, what_does_not_fit_is_counted)
{
	int32_t ranks[1000];
	char text[64];

	for (int32_t i = 0; i < 1000; i++)
		ranks[i] = 2 * i;
	rank_list_text(text, sizeof(text), ranks, 1000);
	cr_expect(strstr(text, "0,2,4,6"));
	cr_expect(strstr(text, "more)"), "%s", text);
	cr_expect_lt(strlen(text), sizeof(text));
}
