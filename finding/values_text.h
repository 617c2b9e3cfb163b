/* SPDX-License-Identifier: MIT */
/* The lines of a finding about values: what was in the buffer, and what could not be seen. */
#ifndef FINDING_VALUES_TEXT_H
#define FINDING_VALUES_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Is it about values (and not about time)? */
bool values_text_is(const json_t *finding);
/* "12 NaN, first at element 4711; largest before 0.0312; then ranks 0-4,6,7" */
void values_text_write(FILE *out, const json_t *finding);
/* "the largest value of rank 6 left those of the others in step 74" */
void values_text_write_evidence(FILE *out, const json_t *finding);
/* "the rank that made it is not visible …" */
void values_text_write_missing(FILE *out, const json_t *finding);

#endif
