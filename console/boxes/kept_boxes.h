/* SPDX-License-Identifier: MIT */
/*
 * Which black boxes of ended runs stay in memory. Only boxes that this user's processes made on this machine since it
 * was started count, in the directories where ranks that are started now would make theirs (boxes_open_in_memory()).
 *
 * A run has ended when none of its processes lives (the lock of their boxes, their start time, the plugin's heartbeat
 * of the last seconds), nobody lives whose box lies in the same directory, and no collector works there. Of ended runs
 * the newest stay within a limit; besides the newest one and the newest with findings stay, however large they are, and
 * those that a launcher was asked to keep (--keep-boxes all).
 */
#ifndef CONSOLE_BOXES_KEPT_BOXES_H
#define CONSOLE_BOXES_KEPT_BOXES_H

#include <stdint.h>
#include <stdio.h>

#include "blackbox/run_mark.h"

#define KEPT_BOXES_ALL UINT64_MAX

struct kept_boxes {
	uint64_t limit; /* bytes that were allowed */
	uint64_t removed_bytes, held_bytes;
	unsigned removed, removed_runs; /* boxes, and the runs that they are of */
	unsigned held, held_runs;       /* boxes of ended runs that are left */
};

/* 2 % of the machine's memory, or of what the control group allows. KEPT_BOXES_ALL where nobody knows how much that is.
 */
uint64_t kept_boxes_usual_limit(void);
/* "4G", or "all". 0 or -EINVAL. */
int kept_boxes_parse(const char *text, uint64_t *limit);

/* Removes what is beyond the limit. Others may do the same at the same time. 0 or -ENOMEM. */
int kept_boxes_trim(uint64_t limit, struct kept_boxes *kept);
/* The boxes that the processes of `job` made since began_ns (CLOCK_MONOTONIC), and those of ranks that shared
 * communicators with them, unless one of them lives or has left a mark that it failed or that something was found. 0 or
 * -ENOMEM. */
int kept_boxes_remove_run(const char *job, uint64_t began_ns, struct kept_boxes *kept);
/* Leaves this mark where boxes of the job are: with RUN_MARK_FAILED they are not removed by another launcher of the
 * same job, with RUN_MARK_KEPT by none. */
void kept_boxes_mark(const char *job, enum run_mark mark);

/* Does the same as kept_boxes_trim() in a process of its own, which says on stderr what it removed; nobody waits for
 * it. */
void kept_boxes_trim_beside(uint64_t limit, const char *who);
/* "WHO: removed 8 black boxes of an ended run (272.1 MiB); …" when some were removed. */
void kept_boxes_print(FILE *out, const char *who, const struct kept_boxes *kept);

#endif
