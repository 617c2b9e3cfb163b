/* SPDX-License-Identifier: MIT */
/* The stretches in which the threads of a process did not run, put together of the pieces of evidence that show them. */
#ifndef ANALYSIS_BLOCKED_H
#define ANALYSIS_BLOCKED_H

#include <stddef.h>

#include "analysis/evidence.h"

enum {
	BLOCKED_OF_THREAD = 6, /* stretches of one thread that are told: the newest */
	BLOCKED_MOST = 64,     /* of all threads */
};
#define BLOCKED_LEAST_NS UINT64_C(10000000) /* shorter ones are not told */

struct blocked {
	const struct evidence_piece *piece; /* the newest of it that knows most: stack, then file */
	uint64_t start_ns, end_ns;
};

/* Newest first, into list[BLOCKED_MOST]; returns how many. Pieces of the same wait that touch are one stretch. */
size_t blocked_find(const struct evidence *evidence, struct blocked *list);

#endif
