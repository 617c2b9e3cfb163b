/* SPDX-License-Identifier: MIT */
/* What people take for failures, as this job shows it: where the loss is, memory of the GPUs, steps that take
 * longer. */
#ifndef PROTOCOL_EXPLANATION_H
#define PROTOCOL_EXPLANATION_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "analysis/analysis.h"

/* Live and from boxes alike; docs/protocol.md, "Explanation". New; NULL on lack of memory. */
json_t *explanation_json(const struct analysis *analysis);
/* A line or two for each of its parts, `before` each of them with its label in as many columns as `label`; of what is
 * not known it is said that it is not, and why. live: a collector's, not from boxes. */
void explanation_print(FILE *out, const char *before, int label, const json_t *explanation, bool live);

/* Only what the job has shown, for those who look for the cause of something else: the ranks that log the loss, how the
 * GPUs' memory went, pauses of all ranks. Lines as above, or none. */
void explanation_print_shown(FILE *out, const char *before, int label, const json_t *explanation);

#endif
