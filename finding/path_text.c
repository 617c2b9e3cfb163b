/* SPDX-License-Identifier: MIT */
#include "finding/path_text.h"

#include <stdbool.h>
#include <string.h>

enum { NAME_COLUMNS = 48 };

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t path_text_columns(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += !is_continuation(*text);
	return count;
}

/* The end of `name`'s first `wanted` columns, in bytes. */
static size_t bytes_of_columns(const char *name, size_t wanted)
{
	size_t at = 0;

	while (name[at] && wanted--) {
		at++;
		while (is_continuation(name[at]))
			at++;
	}
	return at;
}

void path_text_print(FILE *out, const char *path, size_t room)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = path_text_columns(name);

	if (path_text_columns(path) <= room) {
		fputs(path, out);
		return;
	}
	if (slash && slash != path)
		fputs(path[0] == '/' ? "/…/" : "…/", out);
	else if (slash)
		fputc('/', out);
	if (length <= NAME_COLUMNS) {
		fputs(name, out);
		return;
	}
	fprintf(out, "%.*s…%s", (int)bytes_of_columns(name, NAME_COLUMNS / 2), name,
		name + bytes_of_columns(name, length - (NAME_COLUMNS / 2 - 1)));
}
