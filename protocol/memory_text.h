/* SPDX-License-Identifier: MIT */
/* How the GPUs' memory went, as people read it and as JSON. */
#ifndef PROTOCOL_MEMORY_TEXT_H
#define PROTOCOL_MEMORY_TEXT_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* A new object; null where nothing is to be said; NULL on lack of memory. */
json_t *memory_text_json(const struct analysis_gpu_memory *memory);
/* One line, `before` it with its label in as many columns as `label`; none for null. */
void memory_text_print(FILE *out, const char *before, int label, const json_t *memory);

#endif
