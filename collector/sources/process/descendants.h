/* SPDX-License-Identifier: MIT */
/*
 * What the child processes of a process, and their children in turn, used between two readings of /proc: CPU time, also
 * of those that ended meanwhile and were waited for, and bytes read and written. Reads /proc/PID/task/TID/children (a
 * kernel with CONFIG_PROC_CHILDREN; without it no process has any), and stat and io of each. One owner thread.
 */
#ifndef COLLECTOR_SOURCES_PROCESS_DESCENDANTS_H
#define COLLECTOR_SOURCES_PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/analysis.h"

/* Of more processes only the first are read, and of more threads only the first are asked for their children. */
enum { DESCENDANTS_MOST = 64, DESCENDANTS_THREADS = 1024 };

struct descendants;

struct descendants_request {
	const char *proc_root; /* "/proc", or a recorded tree */
	pid_t pid;             /* whose descendants */
	uid_t owner;           /* processes of other users are left out, as are their children */
	bool (*leave_out)(void *argument, pid_t pid); /* as is this process */
	void *argument;
};

/* Reads, and compares with the reading before. *descendants: made by the first call, NULL before; the caller frees it
 * with descendants_free(). The thread must have chosen the rights of the owner (owner_rights.h). True: *seen is filled,
 * but for its field `process`. False: there is no earlier reading that is recent enough (DESCENDANTS_STALE_NS), no
 * right to read, or no memory. */
bool descendants_read(struct descendants **descendants, const struct descendants_request *request, uint64_t now_ns,
		      struct analysis_children *seen);
void descendants_free(struct descendants *descendants); /* accepts NULL */

#define DESCENDANTS_STALE_NS 2000000000u

#endif
