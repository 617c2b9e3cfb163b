/* SPDX-License-Identifier: MIT */
/* Steps that took longer than the others, as people read it and as JSON. */
#ifndef PROTOCOL_COURSE_TEXT_H
#define PROTOCOL_COURSE_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* A new object; null where nothing is known of steps; NULL on lack of memory. */
json_t *course_text_json(const struct analysis_step_course *course);
/* A few lines, `before` each of them with its label in as many columns as `label`; none for null. */
void course_text_print(FILE *out, const char *before, int label, const json_t *course);

/* Of these only pauses of all ranks together, if there are any. */
void course_text_print_pauses(FILE *out, const char *before, int label, const json_t *course);

#endif
