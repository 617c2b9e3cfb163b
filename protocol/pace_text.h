/* SPDX-License-Identifier: MIT */
/* Whether the job's steps have become longer for good, as people read it and as JSON. */
#ifndef PROTOCOL_PACE_TEXT_H
#define PROTOCOL_PACE_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* A new object; null where too few steps are known; NULL on lack of memory. */
json_t *pace_text_json(const struct analysis_pace *pace);
/* A line, `before` it and its label in as many columns as `label`; none where steps have not become longer. */
void pace_text_print(FILE *out, const char *before, int label, const json_t *pace);

#endif
