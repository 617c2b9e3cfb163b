/* SPDX-License-Identifier: MIT */
/* Rows of styled cells: what the views draw on, and what a terminal, a pipe or a test reads. */
#ifndef CONSOLE_TOP_CANVAS_H
#define CONSOLE_TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

enum canvas_style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_BAR,    /* title and key lines */
	STYLE_HEAD,   /* heads of tables */
	STYLE_GOOD,
	STYLE_WAIT,   /* a victim: it waits for somebody */
	STYLE_WARN,
	STYLE_BAD,
	STYLE_CHOSEN, /* the row of the cursor */
	STYLE_HEAT_0, /* … to STYLE_HEAT_0 + CANVAS_HEATS - 1: from nothing to all */
};
enum { CANVAS_HEATS = 8 };

struct canvas_cell {
	wchar_t glyph; /* 0: the right half of a wide one */
	unsigned char style;
};

struct canvas {
	int width, height;
	bool ascii; /* nothing but ASCII is drawn by ourselves, and what is not becomes "?" */
	struct canvas_cell *cells;
};

/* Blank; false without memory. Keeps the memory of a canvas of the same size. */
bool canvas_reset(struct canvas *canvas, int width, int height, bool ascii);
void canvas_free(struct canvas *canvas);

/* UTF-8, cut at the right edge. Rows beyond the canvas are left out. Returns the column behind it. */
int canvas_text(struct canvas *canvas, int row, int column, enum canvas_style style, const char *text);
int canvas_print(struct canvas *canvas, int row, int column, enum canvas_style style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* As canvas_text(), in at most `width` columns; cut with "…". */
int canvas_cut(struct canvas *canvas, int row, int column, int width, enum canvas_style style, const char *text);
/* Broken at spaces, from `column` to the right edge, at most `rows` rows. Returns how many it took. */
int canvas_paragraph(struct canvas *canvas, int row, int column, int rows, enum canvas_style style, const char *text);
/* Every cell of the row, what is drawn there stays. */
void canvas_style_row(struct canvas *canvas, int row, enum canvas_style style);
/* `share` (0 to 1) of `width` columns. */
void canvas_bar(struct canvas *canvas, int row, int column, int width, enum canvas_style style, double share);
/* One column of a chart by its height, 0 to 1; `style` STYLE_HEAT_0: by its height, too. */
void canvas_spark(struct canvas *canvas, int row, int column, enum canvas_style style, double share);

/* One row as UTF-8 without blanks at its end, into `text`; returns text. */
char *canvas_row_text(const struct canvas *canvas, int row, char *text, size_t size);

#endif
