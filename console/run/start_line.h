/* SPDX-License-Identifier: MIT */
/* The first line about a job: its name, how deep its ranks are seen and why not deeper, where findings go. */
#ifndef CONSOLE_RUN_START_LINE_H
#define CONSOLE_RUN_START_LINE_H

#include <stdio.h>

#include <jansson.h>

enum { START_LINE_COLUMNS = 100 };

struct start_line {
	const char *who;      /* "rankwatch run" */
	const char *job;      /* NULL: it has been named before, and where findings go has been said */
	const char *findings; /* "come here", "go to standard output"; NULL: not said */
	const char *file;     /* they are also written there; NULL none */
};

/* sight: with the keys of sight_json(). Broken at a space behind START_LINE_COLUMNS, or `width` columns where that is
 * less; 0: not a terminal. Text is escaped. */
void start_line_print(FILE *out, const struct start_line *line, const json_t *sight, int width);

#endif
