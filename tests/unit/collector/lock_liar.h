/* SPDX-License-Identifier: MIT */
/* A FUSE file system that shows the files of another directory, and names whomever it likes as the holder of their
 * locks. */
#ifndef TESTS_UNIT_COLLECTOR_LOCK_LIAR_H
#define TESTS_UNIT_COLLECTOR_LOCK_LIAR_H

#include <sys/types.h>

/* Mounts `backing` at `mount_point`, so that fcntl(F_GETLK) says that `holder` has a lock on each file. Returns the
 * process that serves it when the mount is there, or -1 where none can be made (`why` then says why); needs root. */
pid_t lock_liar_start(const char *backing, const char *mount_point, pid_t holder, const char **why);
/* Unmounts, and waits for the process. */
void lock_liar_end(pid_t server, const char *mount_point);

#endif
