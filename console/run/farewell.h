/* SPDX-License-Identifier: MIT */
/* What `rankwatch run` says when the job has ended. */
#ifndef CONSOLE_RUN_FAREWELL_H
#define CONSOLE_RUN_FAREWELL_H

#include <stdio.h>

#include <jansson.h>

#include "console/run/tidy.h"

enum farewell_absence {
	FAREWELL_UNEXPLAINED,
	FAREWELL_FAILED_AT_ONCE, /* nothing is said of it */
	FAREWELL_GLOO,           /* it ran with PyTorch's backend for CPUs */
};

/* began_ns: when the run of `job` began (CLOCK_MONOTONIC). tidied: what has become of the black boxes; limit: what
 * those of ended runs may hold. summary: the collector's message, NULL when none came. Prints nothing when another
 * launcher of the job is left: that one prints it. worst: the finding that says most, its last line; NULL none.
 * absence: what is known of a job in which nothing was seen. */
void farewell_print(FILE *out, const char *job, uint64_t began_ns, const json_t *summary, const struct tidied *tidied,
		    uint64_t limit, const json_t *worst, enum farewell_absence absence);
/* Behind it, where a job of several hosts failed or has a finding: that others of its ranks were not seen here, and how
 * all are judged. Nothing where all were seen, or no boxes are left. */
void farewell_print_others(FILE *out, const json_t *summary, const struct tidied *tidied);
/* Behind it, where there is a finding: where a page of the job is, or with page "" how to make one. */
void farewell_print_page(FILE *out, const json_t *summary, const char *page);

#endif
