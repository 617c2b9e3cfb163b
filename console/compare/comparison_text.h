/* SPDX-License-Identifier: MIT */
/* A comparison as people and as programs read it. */
#ifndef CONSOLE_COMPARE_COMPARISON_TEXT_H
#define CONSOLE_COMPARE_COMPARISON_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "console/compare/compare.h"

struct comparison_style {
	bool colour;
	int width; /* columns after which lines are broken; 0 never */
	bool deterministic;
};

void comparison_print(FILE *out, const struct comparison *comparison, char *const paths[TIMES_SIDES],
		      const struct side sides[TIMES_SIDES], const struct comparison_style *style);
/* One object: docs/diff.md. New reference; NULL on lack of memory. */
json_t *comparison_json(const struct comparison *comparison, char *const paths[TIMES_SIDES],
			const struct side sides[TIMES_SIDES], bool deterministic);

#endif
