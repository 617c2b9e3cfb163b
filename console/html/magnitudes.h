/* SPDX-License-Identifier: MIT */
/* The largest magnitude that scans saw in each communicator over time, and the first bad values of every rank. One
 * thread. */
#ifndef CONSOLE_HTML_MAGNITUDES_H
#define CONSOLE_HTML_MAGNITUDES_H

#include "console/html/run_view.h"

enum { MAGNITUDE_COLUMNS = 256, MAGNITUDE_GROUPS = 16, MAGNITUDE_BIRTHS = 64 };

struct magnitude_group {
	uint64_t communicator;
	char *name;
	uint64_t scans;
	float largest[MAGNITUDE_COLUMNS]; /* -1: nothing was scanned */
	int32_t rank[MAGNITUDE_COLUMNS];  /* whose it is */
};

/* Zeroed, but for view = empty. */
struct magnitudes {
	const struct run_view *view;
	struct magnitude_group *groups[MAGNITUDE_GROUPS];
	size_t count;
	bool more;      /* there are more communicators with scans than these */
	json_t *births; /* NULL: none yet */
	size_t more_births;
};

void magnitudes_add(struct magnitudes *magnitudes, const struct replay_process *process,
		    const struct rank_slices *slices);
/* {"groups":[{"name","scans","largest":[…],"rank":[…]}],"births":[…],…}; new reference; frees. */
json_t *magnitudes_take(struct magnitudes *magnitudes);

#endif
