/* SPDX-License-Identifier: MIT */
#include "console/paragraph.h"

#include <string.h>

/* Columns of UTF-8 text: bytes that do not continue a character. */
static int columns(const char *text, size_t length)
{
	int count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

void paragraph_print(FILE *out, const char *text, int column, int indent, int width)
{
	for (const char *word = text; *word;) {
		size_t length = strcspn(word, " ");
		int wide = columns(word, length);
		bool first = word == text;

		if (!first && column + 1 + wide > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fwrite(word, 1, length, out);
		column += wide;
		word += length;
		word += *word == ' ';
	}
	fputc('\n', out);
}
