/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/paragraph.h"
#include "console/cli/nearest.h"

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

Test(paragraph, keeps_a_figure_and_its_unit_together)
{
	expect_paragraph("it waits\n  98 % here\n", "it waits 98 % here", 0, 2, 12);
	expect_paragraph("late by\n  1.26 s;\n  then\n", "late by 1.26 s; then", 0, 2, 9);
	expect_paragraph("rank 3\n  stands\n", "rank 3 stands", 0, 2, 9);
	expect_paragraph("no 3\n  %d\n", "no 3 %d", 0, 2, 5);
	expect_paragraph("all 1.26\n", "all 1.26", 0, 2, 9);
}
