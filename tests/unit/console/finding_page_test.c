/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/cli/command.h"
#include "console/cli/finding_page.h"
#include "finding/finding_json.h"

static char *printed(const struct finding_page *page, int width)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	finding_page_print(out, page, width, false);
	fclose(out);
	return text;
}

Test(finding_page, there_is_one_for_each_kind_and_none_for_others)
{
	for (int kind = 0; kind < RW_KIND_COUNT; kind++)
		cr_expect(finding_page_find(finding_kind_name((enum rw_kind)kind)), "%s", finding_kind_name((enum rw_kind)kind));
	cr_expect_eq(finding_page_count, RW_KIND_COUNT);
	cr_expect_null(finding_page_find("run"));
	cr_expect_eq(finding_page_nearest("stragler"), finding_page_find("straggler"));
	cr_expect_null(finding_page_nearest("kubernetes"));
}

static size_t columns(const char *line, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)line[i] & 0xc0) != 0x80;
	return count;
}

/* One word may be longer than a line; nothing else is. */
Test(finding_page, each_fits_a_terminal_of_80_columns)
{
	for (size_t i = 0; i < finding_page_count; i++) {
		char *text = printed(&finding_pages[i], 80);

		for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
			cr_expect_leq(columns(line, strcspn(line, "\n")), 80, "%s: %.*s", finding_pages[i].kind,
				      (int)strcspn(line, "\n"), line);
		free(text);
	}
}

Test(finding_page, nothing_of_the_page_s_markup_is_left)
{
	static const char *const marks[] = { "](", "**", "```", "\n#", "|---", "<!--" };

	for (size_t i = 0; i < finding_page_count; i++) {
		char *text = printed(&finding_pages[i], 100);

		for (size_t k = 0; k < sizeof(marks) / sizeof(*marks); k++)
			cr_expect_not(strstr(text, marks[k]), "%s: %s", finding_pages[i].kind, marks[k]);
		cr_expect(strstr(text, "\nWhat to do first\n"), "%s", finding_pages[i].kind);
		free(text);
	}
}

Test(finding_page, text_is_broken_at_words_and_lists_keep_their_columns)
{
	static const struct finding_page page = {
		"made-up",
		"# made-up: words\n\nOne **two** three [four](page.md#four) five\nsix `seven` eight.\n\n"
		"1. First of all look at it.\n2. Then\n   go on.\n\n- A point with some words.\n\n"
		"```text\nNAN        rank 5 brought one NaN into a sum\n  do       play it again on another one\n```\n\n"
		"```\n a  drawing   stays\n```\n<!-- a remark -->\n",
	};
	char *text = printed(&page, 40);

	cr_expect_str_eq(text,
			 "made-up: words\n\n  One two three four five six `seven`\n  eight.\n\n"
			 "  1. First of all look at it.\n  2. Then go on.\n\n  - A point with some words.\n\n"
			 "  NAN        rank 5 brought one NaN into\n             a sum\n    do       play it again on another\n"
			 "             one\n\n   a  drawing   stays\n");
	free(text);
}

Test(finding_page, ends_with_the_thresholds_of_its_kind)
{
	char *text = printed(finding_page_find("blind"), 80);
	const char *at = strstr(text, "\nThresholds\n\n");

	cr_assert(at, "%s", text);
	cr_expect_str_eq(at, "\nThresholds\n\n  5 s         in one call into the driver\n");
	free(text);
	text = printed(finding_page_find("hang"), 60);
	cr_expect(strstr(text, "\n  50 %        … but at most this share of it\n"), "%s", text);
	cr_expect(!strstr(text, "in one call into the driver"), "%s", text);
	free(text);
}
