/* SPDX-License-Identifier: MIT */
/*
 * The threads of this process as /proc/self/task lists them, a few at a time. The directory is not kept open in
 * between: a job may close what it does not know, and then the number is somebody else's. Not opendir(3): its first
 * malloc on a thread makes glibc reserve 64 MiB of address space, which may be all that a job under RLIMIT_AS has left.
 */
#ifndef PLUGIN_DRAIN_TASK_LIST_H
#define PLUGIN_DRAIN_TASK_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { TASK_LIST_ROOM = 32 };

struct task_entry {
	uint32_t tid;  /* 0: no thread, an entry to be skipped */
	int64_t after; /* the place in the list behind it */
};

/* The threads from that place on, 0 being the beginning, oldest first; returns their number, 0 at the end. Threads that
 * end between two calls may make the second one miss others. Any thread; no lock. */
size_t task_list(int64_t from, struct task_entry entries[TASK_LIST_ROOM]);

#endif
