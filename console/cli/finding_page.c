/* SPDX-License-Identifier: MIT */
#include "console/cli/finding_page.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/thresholds.h"
#include "base/paragraph.h"
#include "console/cli/nearest.h"
#include "finding/finding_json.h"
#include "finding_page_texts.h"

#define THRESHOLDS "## Thresholds\n"

const size_t finding_page_count = sizeof(finding_pages) / sizeof(finding_pages[0]);

/* Columns of the terminal: of text, of a list's text, of a finding's second line and of what a threshold means. */
enum { MARGIN = 2, LIST = 5, EXAMPLE = 13, VALUE = 14 };

const struct finding_page *finding_page_find(const char *kind)
{
	for (size_t i = 0; i < finding_page_count; i++)
		if (!strcmp(finding_pages[i].kind, kind))
			return &finding_pages[i];
	return NULL;
}

const struct finding_page *finding_page_nearest(const char *kind)
{
	const struct finding_page *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < finding_page_count; i++) {
		size_t distance = nearest_distance(kind, finding_pages[i].kind);

		if (distance < best_distance) {
			best = &finding_pages[i];
			best_distance = distance;
		}
	}
	return best && nearest_is_near(kind, best_distance) ? best : NULL;
}

/* A paragraph or an item of a list, until it ends. */
struct printer {
	FILE *out;
	int width;
	bool bold;
	char text[4096];
	size_t used;
	int indent; /* of its following lines */
	bool is_item;
};

/* `code`, **bold** and [links](where) lose what only a browser needs; code keeps its quotes, so that it can be
 * recognised. */
static void append(struct printer *printer, const char *text, size_t length)
{
	size_t room = sizeof(printer->text) - 1;

	if (printer->used && printer->used < room)
		printer->text[printer->used++] = ' ';
	for (size_t i = 0; i < length && printer->used < room; i++) {
		const char *end = text[i] == ']' && i + 1 < length && text[i + 1] == '('
				      ? memchr(text + i, ')', length - i)
				      : NULL;

		if (end)
			i = (size_t)(end - text);
		else if (text[i] == '*' && i + 1 < length && text[i + 1] == '*')
			i++;
		else if (text[i] != '[' || !memchr(text + i, ']', length - i) || !strstr(text + i, "]("))
			printer->text[printer->used++] = text[i];
	}
	printer->text[printer->used] = '\0';
}

static void flush(struct printer *printer)
{
	int first = printer->is_item ? MARGIN : printer->indent;

	if (!printer->used)
		return;
	fprintf(printer->out, "%*s", first, "");
	paragraph_print(printer->out, printer->text, first, printer->indent, printer->width);
	printer->used = 0;
	printer->is_item = false;
}

static void print_heading(struct printer *printer, const char *text, size_t length)
{
	fprintf(printer->out, "%s%.*s%s\n", printer->bold ? "\033[1m" : "", (int)length, text,
		printer->bold ? "\033[0m" : "");
}

/* 20 ms       a step, at least, is what it must cost */
static void print_row(struct printer *printer, const char *value, const char *meaning)
{
	int columns = MARGIN;

	fprintf(printer->out, "%*s%s", MARGIN, "", value);
	for (const char *at = value; *at; at++)
		columns += ((unsigned char)*at & 0xc0) != 0x80;
	fprintf(printer->out, "%*s", columns < VALUE ? VALUE - columns : 1, "");
	paragraph_print(printer->out, meaning, columns < VALUE ? VALUE : columns + 1, VALUE, printer->width);
}

/* In place of the page's last section, which only says where they are. */
static void print_thresholds(struct printer *printer, const char *kind)
{
	char value[32];

	print_heading(printer, "Thresholds", strlen("Thresholds"));
	fputc('\n', printer->out);
	for (size_t i = 0; i < threshold_count; i++)
		if (!strcmp(finding_kind_name(thresholds[i].kind), kind))
			print_row(printer, threshold_text(value, sizeof(value), &thresholds[i]), thresholds[i].meaning);
}

/* Digits and a full stop, or a hyphen, and a space: columns of the mark; 0: no item. */
static size_t item_mark(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	if (digits && !strncmp(line + digits, ". ", 2))
		return digits + 2;
	return !strncmp(line, "- ", 2) ? 2 : 0;
}

static void print_text_line(struct printer *printer, const char *line, size_t length)
{
	size_t mark = item_mark(line);

	if (!length) {
		flush(printer);
		fputc('\n', printer->out);
	} else if (line[0] == '#') {
		size_t level = strspn(line, "# ");

		flush(printer);
		print_heading(printer, line + level, length - level);
	} else if (mark) {
		flush(printer);
		printer->is_item = true;
		printer->indent = MARGIN + (int)mark;
		append(printer, line, length);
	} else {
		if (!printer->used)
			printer->indent = MARGIN;
		append(printer, line + strspn(line, " "), length - strspn(line, " "));
	}
}

/* What was printed by the program is broken as the program breaks it; a drawing stays as it is. */
static void print_fenced_line(struct printer *printer, const char *line, size_t length, bool is_example)
{
	fprintf(printer->out, "%*s", MARGIN, "");
	if (!is_example) {
		fprintf(printer->out, "%.*s\n", (int)length, line);
		return;
	}
	size_t margin = strspn(line, " ");

	fprintf(printer->out, "%*s", (int)margin, "");
	snprintf(printer->text, sizeof(printer->text), "%.*s", (int)(length - margin), line + margin);
	paragraph_print(printer->out, printer->text, MARGIN + (int)margin, EXAMPLE, printer->width);
}

void finding_page_print(FILE *out, const struct finding_page *page, int width, bool bold)
{
	struct printer printer = { .out = out, .width = width, .bold = bold, .indent = MARGIN };
	bool fenced = false, is_example = false;
	const char *line = page->text;

	while (*line && strncmp(line, THRESHOLDS, strlen(THRESHOLDS)) != 0) {
		size_t length = strcspn(line, "\n");

		if (!strncmp(line, "```", 3)) {
			flush(&printer);
			is_example = !fenced && length > 3;
			fenced = !fenced;
		} else if (fenced) {
			print_fenced_line(&printer, line, length, is_example);
		} else if (strncmp(line, "<!--", 4) != 0) {
			print_text_line(&printer, line, length);
		}
		line += length + (line[length] == '\n');
	}
	flush(&printer);
	if (*line)
		print_thresholds(&printer, page->kind);
}
