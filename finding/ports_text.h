/* SPDX-License-Identifier: MIT */
/* What the network ports of the collector's host showed when a finding began, in words. */
#ifndef FINDING_PORTS_TEXT_H
#define FINDING_PORTS_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Is there anything of the kind? */
bool ports_text_is(const json_t *finding);
/* One line without its end; names in it are the host's, to be printed as foreign text. */
void ports_text_write(FILE *out, const json_t *finding);

#endif
