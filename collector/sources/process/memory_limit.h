/* SPDX-License-Identifier: MIT */
/* How near a process's control group is to its memory limit, version 1 and 2. Reads files, never waits. One owner
 * thread. */
#ifndef COLLECTOR_SOURCES_PROCESS_MEMORY_LIMIT_H
#define COLLECTOR_SOURCES_PROCESS_MEMORY_LIMIT_H

#include <sys/types.h>

#include "analysis/analysis.h"

/* What has been read in one round, over processes: most have their groups in common, and a group's files are read once
 * in a round. */
struct memory_round;

struct memory_round *memory_round_new(void);	      /* NULL: no memory */
void memory_round_free(struct memory_round *round);  /* accepts NULL */
/* What was read is forgotten, but for where the groups are mounted, which is looked up every 30th round. Accepts
 * NULL. */
void memory_round_begin(struct memory_round *round);

/*
 * Fills limit, held, hits, full and group of `state` with those of the group that limits `pid` most: its own or one
 * above it, as far as they are mounted here. root: "" or where a test has its /proc and /sys. round: NULL: everything
 * is read anew. 0, -ENOENT: no limit, or not seen, or another -errno.
 */
int memory_limit_read(struct memory_round *round, const char *root, pid_t pid, struct analysis_memory_state *state);

#endif
