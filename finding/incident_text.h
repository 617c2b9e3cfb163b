/* SPDX-License-Identifier: MIT */
/* The story of the incident that a finding belongs to, as one line. What comes from a job is not escaped here. */
#ifndef FINDING_INCIDENT_TEXT_H
#define FINDING_INCIDENT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* Does it say more than the finding itself: another finding, or what became of the ranks? */
bool incident_text_is_story(const json_t *finding);
/* "rank 3 brought 1 NaN into … → rank 3 exited with status 1 (likely) → ranks 0-2,4-7 wait for it", without a line end.
 * Of a finding that is alone only what became of it. */
void incident_text_write(FILE *out, const json_t *finding);
/* Its incident; "" none: it came from an older release. */
const char *incident_text_id(const json_t *finding);

#endif
