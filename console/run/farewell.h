/* SPDX-License-Identifier: MIT */
/* What `rankwatch run` says when the job has ended. */
#ifndef CONSOLE_RUN_FAREWELL_H
#define CONSOLE_RUN_FAREWELL_H

#include <jansson.h>
#include <stdio.h>

#include "console/run/tidy.h"

/* tidied: what has become of the black boxes; limit: what those of ended runs may hold. summary: the collector's
 * message, NULL when none came. Prints nothing when another launcher of the job is left: that one prints it. Without a
 * black box it says what the likely reasons are. worst: the finding that says most, its last line; NULL none. */
void farewell_print(FILE *out, const char *job, const json_t *summary, const struct tidied *tidied, uint64_t limit,
		    const json_t *worst);

#endif
