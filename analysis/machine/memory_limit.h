/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks whose control group reaches its memory limit repeatedly while most of its memory is not page cache: then
 * swap or the OOM killer comes next. In healthy jobs page cache fills limits, too, and being at the limit then costs
 * nothing. So both conditions must hold.
 */
#ifndef ANALYSIS_MACHINE_MEMORY_LIMIT_H
#define ANALYSIS_MACHINE_MEMORY_LIMIT_H

#include <stdint.h>

#include "analysis/analysis.h"

struct process;

#define MEMORY_LIMIT_SHARE    0.9 /* share of the limit that is in use and not page cache */
#define MEMORY_LIMIT_HITS_NS  10000000000u /* within this time … */
#define MEMORY_LIMIT_CLEAN_NS 60000000000u /* without a hit: closed */
enum { MEMORY_LIMIT_HITS = 3 /* … so many looks found new hits */ };

struct memory_group {
	uint64_t id, limit, held;
	uint64_t hits; /* at the last look */
	uint64_t times[MEMORY_LIMIT_HITS]; /* of looks that found the group full and hit */
	uint64_t count;                    /* of these, ever */
};

struct memory_groups {
	struct memory_group *items;
	uint32_t count;
};

/* Takes the state of a process's group. Returns 0 or -ENOMEM. */
int memory_limit_note(struct memory_groups *groups, struct process *process, const struct analysis_memory_state *state);
/* Opens and closes findings of kind memory. */
void memory_limit_tick(struct analysis *analysis, uint64_t now_ns);
void memory_limit_free(struct memory_groups *groups);

#endif
