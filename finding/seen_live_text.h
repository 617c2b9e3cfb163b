/* SPDX-License-Identifier: MIT */
/* That a finding of a report, or its cause, was seen by the collector while the job ran, as one line. */
#ifndef FINDING_SEEN_LIVE_TEXT_H
#define FINDING_SEEN_LIVE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* The value of the key `seen_live`: by which sources `live` was seen, until when, and whether the black boxes show the
 * finding as well. A new reference; NULL on lack of memory. */
json_t *seen_live_json(const json_t *live, bool in_boxes);
/* Is it said of this finding? */
bool seen_live_text_is(const json_t *finding);
/* "seen live, by eBPF and Python's stack", without a line end. */
void seen_live_text_write(FILE *out, const json_t *finding);

#endif
