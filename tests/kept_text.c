/* SPDX-License-Identifier: MIT */
#include "tests/kept_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const char *directory, const char *name, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.txt", directory, name);
	FILE *file = fopen(path, mode);
	cr_assert(file, "%s", path);
	return file;
}

static void write_file(const char *directory, const char *name, const char *text)
{
	FILE *file = open_file(directory, name, "we");

	fputs(text, file);
	fclose(file);
}

char *kept_text_read(const char *directory, const char *name)
{
	char *text = NULL;
	size_t room = 0;

	if (getenv("KEPT_WRITE"))
		return NULL;
	FILE *file = open_file(directory, name, "re");
	cr_assert_geq(getdelim(&text, &room, '\0', file), 0);
	fclose(file);
	return text;
}

static void expect_same(const char *name, const char *text, const char *kept, const char *command)
{
	size_t line = 1, at = 0, begin = 0;

	for (; text[at] && text[at] == kept[at]; at++)
		if (text[at] == '\n')
			line++, begin = at + 1;
	cr_expect(text[at] == kept[at], "%s.txt:%zu is\n%.*s\nand now it is\n%.*s\nIf that is meant: %s", name, line,
		  (int)strcspn(kept + begin, "\n"), kept + begin, (int)strcspn(text + begin, "\n"), text + begin, command);
}

void kept_text_compare(const char *directory, const char *name, const char *text, const char *command)
{
	char *kept = kept_text_read(directory, name);

	if (kept)
		expect_same(name, text, kept, command);
	else
		write_file(directory, name, text);
	free(kept);
}
