/* SPDX-License-Identifier: MIT */
/*
 * What the path of a collective must not do: no system call (seccomp), no allocation, no lock (both interposed in the
 * program that this is compiled into, which has to export its symbols). Ends the process with its verdict.
 */
#ifndef TESTS_ABI_PATH_GUARD_H
#define TESTS_ABI_PATH_GUARD_H

/* Returns in a child; the parent ends with the child's status, its exit handlers included. */
void path_guard_fork(void);
/* From here on the calling thread may make no system call; none of its allocations and locks is overlooked. Ends the
 * process with status 77 where there is no seccomp. */
void path_guard_begin(void);
/* Ends the process: status 0, or 1 when there was one. `what` was on the path. */
_Noreturn void path_guard_end(const char *what);

#endif
