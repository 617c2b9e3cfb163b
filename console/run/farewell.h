/* SPDX-License-Identifier: MIT */
/* What `rankwatch run` says when the job has ended. */
#ifndef CONSOLE_RUN_FAREWELL_H
#define CONSOLE_RUN_FAREWELL_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "console/run/tidy.h"

/* tidied: what has become of the black boxes; limit: what those of ended runs may hold. summary: the collector's
 * message, NULL when none came. Prints nothing when another launcher of the job is left: that one prints it. worst: the
 * finding that says most, its last line; NULL none. failed_at_once: then nothing is said where nothing was seen. */
void farewell_print(FILE *out, const char *job, const json_t *summary, const struct tidied *tidied, uint64_t limit,
		    const json_t *worst, bool failed_at_once);

#endif
