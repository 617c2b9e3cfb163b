/* SPDX-License-Identifier: MIT */
#include "base/foreign_text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at `text`, 0 when it is none (also overlong forms and surrogates). */
static size_t decode(const unsigned char *text, uint32_t *code)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t smallest;
	} forms[] = { { 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };

	for (size_t length = 1; length <= 4; length++) {
		if ((text[0] & forms[length - 1].mask) != forms[length - 1].lead)
			continue;
		*code = text[0] & (unsigned char)~forms[length - 1].mask;
		for (size_t i = 1; i < length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			*code = *code << 6 | (text[i] & 0x3f);
		}
		if (*code < forms[length - 1].smallest || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
			return 0;
		return length;
	}
	return 0;
}

/* Control characters move the cursor or ring; the others reorder or hide what stands beside them, or cannot be seen. */
static bool is_unsafe(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

char *foreign_text(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = (const unsigned char *)text;
	char *escaped = malloc(strlen(text) * 4 + 1);
	char *to = escaped;

	while (escaped && *from) {
		uint32_t code = 0;
		size_t length = decode(from, &code);
		bool keep = length && !is_unsafe(code);

		for (size_t i = 0; i < (length ? length : 1); i++, from++) {
			if (keep) {
				*to++ = (char)*from;
				continue;
			}
			*to++ = '\\';
			*to++ = 'x';
			*to++ = digits[*from >> 4];
			*to++ = digits[*from & 0xf];
		}
	}
	if (escaped)
		*to = '\0';
	return escaped;
}

void foreign_put(FILE *out, const char *text)
{
	char *escaped = text ? foreign_text(text) : NULL;

	fputs(escaped ? escaped : "?", out);
	free(escaped);
}

void foreign_line(FILE *out, const char *format, ...)
{
	char *line = NULL;
	va_list arguments;

	va_start(arguments, format);
	int length = vasprintf(&line, format, arguments);
	va_end(arguments);

	char *escaped = length < 0 ? NULL : foreign_text(line);

	/* One write: several processes may have this standard error. */
	fprintf(out, "%s\n", escaped ? escaped : "(no memory)");
	free(escaped);
	if (length >= 0)
		free(line);
}
