/* SPDX-License-Identifier: MIT */
#include "base/paragraph.h"

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

void paragraph_print(FILE *out, const char *text, int column, int indent, int width)
{
	char *escaped = foreign_text(text);
	bool begun = false;

	for (const char *word = escaped ? escaped : "(no memory)"; *word;) {
		size_t length = strcspn(word, " ");
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
