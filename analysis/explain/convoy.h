/* SPDX-License-Identifier: MIT */
/*
 * Finds a lock that the threads of a process pass on in short turns, such as Python's GIL: a thread that wants it waits
 * 5 ms at a time, the interpreter's switch interval, until it is free, and any other thread may be faster. It is found
 * from waits that the kernel summed. Samples have no wakers, so it cannot be found from them.
 */
#ifndef ANALYSIS_EXPLAIN_CONVOY_H
#define ANALYSIS_EXPLAIN_CONVOY_H

#include "analysis/explain/cause.h"

enum { CONVOY_HOLDERS = 64 /* more are not counted */ };

struct convoy {
	/* of the threads that pass the lock on; 0 where they have several, or too few of them were seen */
	intern_id name;
	bool like_python; /* in turns of 5 ms */
	uint32_t holders; /* threads that were seen to pass it on: CONVOY_HOLDERS at most */
	double cpu;       /* of one CPU, which these used together in the windows; -1: not known of most of them */
};

/* Whether most of lock_ns, the time of the windows in which the thread waited for a lock, was in such waits, the thread
 * that ended most of them was not busy in files, and there is no one thread to follow: several ended them, none nearly
 * all, or timers ended most of them, as they do where Python's lock is waited for. */
bool convoy_find(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
		 const struct cause_window *windows, uint32_t count, uint64_t lock_ns, struct convoy *convoy);

#endif
