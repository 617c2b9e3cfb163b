/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "console/nearest.h"
#include "console/paragraph.h"
#include "console/rank_list.h"

static void expect_list(const char *expected, const int32_t *ranks, size_t count)
{
	char text[64];

	cr_expect_str_eq(rank_list_text(text, sizeof(text), ranks, count), expected);
}

Test(rank_list, ranks_in_a_row_become_a_range)
{
	expect_list("0-3,5-6,9", (int32_t[]){ 0, 1, 2, 3, 5, 6, 9 }, 7);
	expect_list("7", (int32_t[]){ 7 }, 1);
	expect_list("", NULL, 0);
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

Test(nearest, swapped_missing_and_wrong_letters_cost_one)
{
	cr_expect_eq(nearest_distance("reprot", "report"), 1);
	cr_expect_eq(nearest_distance("repot", "report"), 1);
	cr_expect_eq(nearest_distance("rebort", "report"), 1);
	cr_expect_eq(nearest_distance("report", "report"), 0);
	cr_expect_eq(nearest_distance("", "run"), 3);
}

Test(nearest, another_word_is_not_near)
{
	cr_expect(nearest_is_near("reprot", 1));
	cr_expect_not(nearest_is_near("ls", 2));
}

static void expect_paragraph(const char *expected, const char *text, int column, int indent, int width)
{
	char *printed = NULL;
	size_t size;
	FILE *out = open_memstream(&printed, &size);

	paragraph_print(out, text, column, indent, width);
	fclose(out);
	cr_expect_str_eq(printed, expected);
	free(printed);
}

Test(paragraph, breaks_at_spaces_and_indents_what_follows)
{
	expect_paragraph("rank 0 waits\n  for its\n  writer\n", "rank 0 waits for its writer", 0, 2, 12);
}

Test(paragraph, keeps_a_long_path_whole)
{
	expect_paragraph("in\n  /a/very/long/path\n  now\n", "in /a/very/long/path now", 0, 2, 10);
}

Test(paragraph, counts_characters_and_not_bytes)
{
	expect_paragraph("ääää ääää\n", "ääää ääää", 0, 2, 9);
}
