/* SPDX-License-Identifier: MIT */
/*
 * Ranks that others wait for before they have a black box: looks for their processes in /proc, by what the launcher
 * put into their environment (the plugin's own rules), and whether those get on. One owner thread.
 */
#ifndef COLLECTOR_ABSENTEES_H
#define COLLECTOR_ABSENTEES_H

#include <stdint.h>

#include "analysis/analysis.h"

enum { ABSENTEES_MAX = 32 };

/* One rank at the last look. */
struct absentees_rank {
	int32_t world_rank;
	uint64_t ticks, bytes; /* of all its processes: CPU time, read and written */
	uint64_t looked_ns;    /* 0 = never */
};

struct absentees {
	struct analysis *analysis;
	const char *proc; /* "/proc" */
	const char *job;
	struct absentees_rank ranks[ABSENTEES_MAX];
	uint64_t looked_ns;
};

/* Call often: looks once a second, and only while somebody is waited for. Costs a pass over /proc then. */
void absentees_look(struct absentees *absentees, uint64_t now_ns);

#endif
