/* SPDX-License-Identifier: MIT */
/* The pieces of a finding's evidence that have one source, in words: what network ports counted, what child processes
 * did. */
#ifndef FINDING_EVIDENCE_TEXT_H
#define FINDING_EVIDENCE_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Has the finding a piece from this source ("port", "children")? */
bool evidence_text_is(const json_t *finding, const char *source);
/* One line without its end; names in it are the host's, to be printed as foreign text. */
void evidence_text_write(FILE *out, const json_t *finding, const char *source);

#endif
