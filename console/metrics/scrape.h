/* SPDX-License-Identifier: MIT */
/* Asks the collectors of this user on this machine, and writes what they answer as metrics. */
#ifndef CONSOLE_METRICS_SCRAPE_H
#define CONSOLE_METRICS_SCRAPE_H

#include <stddef.h>

#include "console/metrics/exposition.h"

/* malloc'ed text and its length; NULL on lack of memory. job: of this job alone; NULL: of all. Takes a second at most,
 * where a collector does not answer. */
char *scrape(const char *job, enum exposition_format format, size_t *length);

#endif
