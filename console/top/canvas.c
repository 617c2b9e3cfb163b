/* SPDX-License-Identifier: MIT */
#include "console/top/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool canvas_reset(struct canvas *canvas, int width, int height, bool ascii)
{
	size_t count = (size_t)width * (size_t)height;

	if (canvas->width != width || canvas->height != height || !canvas->cells) {
		free(canvas->cells);
		canvas->cells = calloc(count + 1, sizeof(*canvas->cells));
	}
	canvas->width = width;
	canvas->height = height;
	canvas->ascii = ascii;
	if (!canvas->cells)
		return false;
	for (size_t i = 0; i < count; i++)
		canvas->cells[i] = (struct canvas_cell){ L' ', STYLE_PLAIN };
	return true;
}

void canvas_free(struct canvas *canvas)
{
	free(canvas->cells);
	*canvas = (struct canvas){ 0 };
}

static struct canvas_cell *cell_at(const struct canvas *canvas, int row, int column)
{
	if (row < 0 || row >= canvas->height || column < 0 || column >= canvas->width)
		return NULL;
	return &canvas->cells[(size_t)row * (size_t)canvas->width + (size_t)column];
}

static void put(struct canvas *canvas, int row, int column, enum canvas_style style, wchar_t glyph)
{
	struct canvas_cell *cell = cell_at(canvas, row, column);

	if (cell)
		*cell = (struct canvas_cell){ glyph, (unsigned char)style };
}

/* What our own text holds beyond ASCII. */
static wchar_t plain_glyph(wchar_t glyph)
{
	static const struct {
		wchar_t from, to;
	} known[] = { { L'·', '|' }, { L'…', '~' }, { L'×', 'x' }, { L'→', '>' },
		      { L'←', '<' }, { L'▸', '>' }, { L'—', '-' }, { L'─', '-' } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].from == glyph)
			return known[i].to;
	return L'?';
}

/* The next character of the text: its bytes; 0 at the end. UTF-8 whatever the locale is. */
static int next_glyph(const char *text, wchar_t *glyph)
{
	const unsigned char *bytes = (const unsigned char *)text;
	int length = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
	unsigned value = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));

	if (!*bytes)
		return 0;
	for (int i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80) {
			*glyph = L'?';
			return i;
		}
		value = value << 6 | (bytes[i] & 0x3fu);
	}
	*glyph = value < 0x20 || (value >= 0x7f && value < 0xa0) ? L'?' : (wchar_t)value;
	return length;
}

static int glyph_width(const struct canvas *canvas, wchar_t glyph)
{
	if (glyph < 0x80 || canvas->ascii)
		return 1;
	int width = wcwidth(glyph);

	return width < 0 ? 1 : width;
}

static int put_text(struct canvas *canvas, int row, int column, int end, enum canvas_style style, const char *text)
{
	wchar_t glyph;

	for (int length; (length = next_glyph(text, &glyph)) > 0; text += length) {
		if (canvas->ascii && glyph >= 0x80)
			glyph = plain_glyph(glyph);
		int width = glyph_width(canvas, glyph);

		if (column + width > end)
			return column;
		if (!width)
			continue;
		put(canvas, row, column, style, glyph);
		if (width > 1)
			put(canvas, row, column + 1, style, 0);
		column += width;
	}
	return column;
}

int canvas_text(struct canvas *canvas, int row, int column, enum canvas_style style, const char *text)
{
	return put_text(canvas, row, column, canvas->width, style, text);
}

int canvas_print(struct canvas *canvas, int row, int column, enum canvas_style style, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return canvas_text(canvas, row, column, style, text);
}

static int width_of(const struct canvas *canvas, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	wchar_t glyph;
	int width = 0;

	for (int length; text < end && (length = next_glyph(text, &glyph)) > 0; text += length)
		width += glyph_width(canvas, glyph);
	return width;
}

int canvas_cut(struct canvas *canvas, int row, int column, int width, enum canvas_style style, const char *text)
{
	int end = column + width < canvas->width ? column + width : canvas->width;

	if (width_of(canvas, text, strlen(text)) <= end - column)
		return put_text(canvas, row, column, end, style, text);
	if (end <= column)
		return column;
	column = put_text(canvas, row, column, end - 1, style, text);
	return put_text(canvas, row, column, end, style, "…");
}

/* How many bytes of the text fit into the width, up to a space if there is one. */
static size_t line_bytes(const struct canvas *canvas, const char *text, int width)
{
	size_t fits = 0, at = 0;

	while (text[at]) {
		size_t word = at + strcspn(text + at, " ");

		if (width_of(canvas, text, word) > width)
			break;
		fits = word;
		at = word + strspn(text + word, " ");
	}
	if (fits)
		return fits;
	for (fits = strcspn(text, " ");
	     fits > 1 && (width_of(canvas, text, fits) > width || (text[fits] & 0xc0) == 0x80);)
		fits--;
	return fits;
}

int canvas_paragraph(struct canvas *canvas, int row, int column, int rows, enum canvas_style style, const char *text)
{
	int taken = 0, width = canvas->width - column;
	char line[1024];

	for (; *text && taken < rows && width > 0; taken++) {
		size_t bytes = line_bytes(canvas, text, width);

		if (taken + 1 == rows) {
			canvas_cut(canvas, row + taken, column, width, style, text);
			return rows;
		}
		snprintf(line, sizeof(line), "%.*s", (int)(bytes < sizeof(line) ? bytes : sizeof(line) - 1), text);
		canvas_text(canvas, row + taken, column, style, line);
		text += bytes + strspn(text + bytes, " ");
	}
	return taken;
}

void canvas_style_row(struct canvas *canvas, int row, enum canvas_style style)
{
	for (int column = 0; column < canvas->width; column++) {
		struct canvas_cell *cell = cell_at(canvas, row, column);

		if (cell)
			cell->style = (unsigned char)style;
	}
}

static double clamp(double share)
{
	return share > 1 ? 1 : share > 0 ? share : 0;
}

void canvas_bar(struct canvas *canvas, int row, int column, int width, enum canvas_style style, double share)
{
	int eighths = (int)(clamp(share) * width * 8 + 0.5);

	for (int i = 0; i < width && eighths > 0; i++, eighths -= 8) {
		/* Blocks from the left: U+258F is an eighth, U+2588 is full. */
		wchar_t glyph = eighths >= 8 ? 0x2588 : (wchar_t)(0x2590 - eighths);

		if (canvas->ascii)
			glyph = eighths >= 4 ? L'#' : L'-';
		put(canvas, row, column + i, style, glyph);
	}
}

void canvas_spark(struct canvas *canvas, int row, int column, enum canvas_style style, double share)
{
	static const char plain[] = "_.-=+*#@";
	int level = (int)(clamp(share) * (CANVAS_HEATS - 1) + 0.5);

	put(canvas, row, column, style == STYLE_HEAT_0 ? (enum canvas_style)(STYLE_HEAT_0 + level) : style,
	    canvas->ascii ? (wchar_t)plain[level] : (wchar_t)(0x2581 + level));
}

static size_t encode(wchar_t glyph, char *out)
{
	unsigned value = (unsigned)glyph;

	if (value < 0x80) {
		out[0] = (char)value;
		return 1;
	}
	size_t length = value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;

	for (size_t i = length - 1; i > 0; i--, value >>= 6)
		out[i] = (char)(0x80 | (value & 0x3f));
	out[0] = (char)((0xf00u >> length & 0xffu) | value);
	return length;
}

char *canvas_row_text(const struct canvas *canvas, int row, char *text, size_t size)
{
	size_t used = 0, end = 0;

	for (int column = 0; column < canvas->width && used + 5 < size; column++) {
		const struct canvas_cell *cell = cell_at(canvas, row, column);

		if (!cell || !cell->glyph)
			continue;
		used += encode(cell->glyph, text + used);
		end = cell->glyph == L' ' ? end : used;
	}
	text[end] = '\0';
	return text;
}
