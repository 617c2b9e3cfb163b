/* SPDX-License-Identifier: MIT */
/*
 * Whether a child of a rank waits for a lock that was held by another thread when it was forked. A fork copies the
 * lock, and of the threads only the one that forks, so nobody in the child ever releases it.
 */
#ifndef COLLECTOR_SOURCES_WAITS_FORK_LOCK_H
#define COLLECTOR_SOURCES_WAITS_FORK_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* True where it is certain: `child` has one thread, which sleeps in futex(2) without a limit of time on a lock of its
 * own memory (FUTEX_PRIVATE_FLAG: what processes share, as Python's multiprocessing.Lock, has not), and has the first
 * stack of `parent`, so that it was forked and has not called exec. Needs the rights to trace both. proc_root: "/proc",
 * or a recorded tree. Any thread. */
bool fork_lock_is_awaited(const char *proc_root, pid_t child, pid_t parent);

#endif
