/* SPDX-License-Identifier: MIT */
/* One thread's files under /proc/PID/task/TID, kept open where that pays: a kept one is read in half the time. */
#ifndef COLLECTOR_SOURCES_WAITS_PROC_THREAD_H
#define COLLECTOR_SOURCES_WAITS_PROC_THREAD_H

#include <stdbool.h>

#include "analysis/analysis.h"

enum { PROC_THREAD_FILES = 4 };

struct proc_thread {
	uint32_t tid;
	uint32_t round;               /* for the owner's list */
	int files[PROC_THREAD_FILES]; /* -1: not open */
};

void proc_thread_begin(struct proc_thread *thread, uint32_t tid);
void proc_thread_close(struct proc_thread *thread);

/*
 * Fills thread, state, times, system call, its descriptor (the first of poll(2)'s), wait channel and, with_stack,
 * frames of `wait`. process_fd: /proc/PID. keep: leave the files open for the next time. 0, -ESRCH when the thread is
 * gone, or another -errno.
 */
int proc_thread_read(struct proc_thread *thread, int process_fd, bool keep, bool with_stack,
		     struct analysis_wait *wait);

#endif
