/* SPDX-License-Identifier: MIT */
/* How near a process's control group is to its memory limit, version 1 and 2. Reads files, never waits. */
#ifndef COLLECTOR_SOURCES_MEMORY_LIMIT_H
#define COLLECTOR_SOURCES_MEMORY_LIMIT_H

#include <sys/types.h>

#include "analysis/analysis.h"

/*
 * Fills limit, held, hits, full and group of `state` with those of the group that limits `pid` most: its own or one above it,
 * as far as they are mounted here. root: "" or where a test has its /proc and /sys. 0, -ENOENT: no limit, or not seen, or
 * another -errno.
 */
int memory_limit_read(const char *root, pid_t pid, struct analysis_memory_state *state);

#endif
