/* SPDX-License-Identifier: MIT */
/* The periods in which the threads of a process did not run, combined from the pieces of evidence that show them. */
#ifndef ANALYSIS_EXPLAIN_BLOCKED_H
#define ANALYSIS_EXPLAIN_BLOCKED_H

#include <stddef.h>

#include "analysis/host/evidence.h"

enum {
	BLOCKED_OF_THREAD = 6, /* most periods that are returned per thread: the newest */
	BLOCKED_MOST = 64,     /* most periods of all threads */
};
#define BLOCKED_LEAST_NS UINT64_C(10000000) /* shorter periods are left out */

struct blocked {
	/* the newest piece of the period with the most information: stack, then file */
	const struct evidence_piece *piece;
	uint64_t start_ns, end_ns;
};

/* Fills list[BLOCKED_MOST], newest first. Returns how many there are. Adjoining pieces of the same wait are one
 * period. */
size_t blocked_find(const struct evidence *evidence, struct blocked *list);

#endif
