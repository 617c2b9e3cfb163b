/* SPDX-License-Identifier: MIT */
/* Which ranks of a pipelined job log its loss, as people read it and as JSON. */
#ifndef PROTOCOL_LOSS_TEXT_H
#define PROTOCOL_LOSS_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* A new object; null where there is no pipeline, or nothing is known of it; NULL on lack of memory. */
json_t *loss_text_json(const struct analysis_pipeline *pipeline);
/* A line or two, `before` each of them with its label in as many columns as `label`; none for null. */
void loss_text_print(FILE *out, const char *before, int label, const json_t *loss);

#endif
