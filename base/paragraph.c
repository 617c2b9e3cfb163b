/* SPDX-License-Identifier: MIT */
#include "base/paragraph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"

/* Columns of UTF-8 text: bytes that do not continue a character. */
static int columns(const char *text, size_t length)
{
	int count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* "98 %", "1.26 s;": does a unit begin here? */
static bool is_unit(const char *text)
{
	static const char *const units[] = { "%",     "ns",  "µs",  "ms",  "s",   "min", "h", "days",
					     "bytes", "KiB", "MiB", "GiB", "TiB", "MHz", "W", "C" };
	size_t length = strcspn(text, " ,;:.)");

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i]) == length && !strncmp(text, units[i], length))
			return true;
	return false;
}

/* What stays in one line from here on: a word, and with a figure its unit. */
static size_t piece(const char *text)
{
	size_t length = strcspn(text, " ");

	if (length && text[length] && isdigit((unsigned char)text[length - 1]) && is_unit(text + length + 1))
		length += 1 + strcspn(text + length + 1, " ");
	return length;
}

void paragraph_print(FILE *out, const char *text, int column, int indent, int width)
{
	char *escaped = foreign_text(text);
	bool begun = false;

	for (const char *word = escaped ? escaped : "(no memory)"; *word;) {
		size_t length = piece(word);
		int wide = columns(word, length);

		if (begun && column + 1 + wide > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (begun) {
			fputc(' ', out);
			column++;
		}
		begun = true;
		fwrite(word, 1, length, out);
		column += wide;
		word += length;
		word += *word == ' ';
	}
	fputc('\n', out);
	free(escaped);
}
