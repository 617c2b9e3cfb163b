/* SPDX-License-Identifier: MIT */
/* Asks the collectors of this user on this machine, and writes what they answer as metrics. */
#ifndef CONSOLE_METRICS_SCRAPE_H
#define CONSOLE_METRICS_SCRAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "console/metrics/exposition.h"

struct scrape_choice {
	const char *job;    /* only this one; NULL: all */
	bool all_nodes;     /* asks the collectors that hear all nodes of a job, and no others */
	bool communicators; /* also how far each rank is in each of them */
};

/* malloc'ed text and its length; NULL on lack of memory. Where a collector does not answer it takes a second, of all
 * nodes five. */
char *scrape(const struct scrape_choice *choice, enum exposition_format format, size_t *length);

#endif
