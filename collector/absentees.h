/* SPDX-License-Identifier: MIT */
/*
 * Ranks that others wait for before they have a black box: looks for their processes in /proc, by what the launcher
 * put into their environment (the plugin's own rules), and whether those get on. Who has come is remembered before
 * anybody waits: one that never had a process has not ended. One owner thread.
 */
#ifndef COLLECTOR_ABSENTEES_H
#define COLLECTOR_ABSENTEES_H

#include <stdint.h>

#include "analysis/analysis.h"

enum {
	ABSENTEES_MAX = 32,
	ABSENTEES_WORLD = 4096, /* on one host there are no more */
};

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
	int32_t seen[ABSENTEES_WORLD]; /* pid of each world rank of this generation when it was last seen; 0: never */
	int32_t generation;
	int32_t world_size; /* of the job's processes on this host, where all ranks are here; else -1; 0: none seen */
	uint64_t begun_ns, looked_ns;
};

/* Call often. A look is a pass over /proc: once a second while somebody is waited for, and less and less often before,
 * until all ranks have a black box. */
void absentees_look(struct absentees *absentees, uint64_t now_ns);

#endif
