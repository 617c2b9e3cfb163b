/* SPDX-License-Identifier: MIT */
/* A finding as people read it: at most 4 lines of 100 columns, from its JSON (so that it also prints what a newer
 * collector sent: unknown kinds and keys are shown or ignored, never fatal). Text from the job is escaped. */
#ifndef FINDING_FINDING_TEXT_H
#define FINDING_FINDING_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Prints the finding; colour: ANSI colour for the kind. Returns 0 or -EPROTO when it is not a finding. */
int finding_print(FILE *out, const json_t *finding, bool colour);

#endif
