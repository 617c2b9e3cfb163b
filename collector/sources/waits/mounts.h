/* SPDX-License-Identifier: MIT */
/*
 * Which file system and which device stand behind a file, from /proc/PID/mountinfo (proc_pid_mountinfo(5)).
 * Reads mount tables only, never a mounted file system: stat(2) on a hung network mount would hang the collector.
 * One owner thread.
 */
#ifndef COLLECTOR_SOURCES_WAITS_MOUNTS_H
#define COLLECTOR_SOURCES_WAITS_MOUNTS_H

#include <stdint.h>
#include <sys/types.h>

struct mounts;

#define MOUNTS_KEPT_NS UINT64_C(10000000000)

struct mount_entry {
	int32_t id;           /* unique on the machine while mounted; as mnt_id in /proc/PID/fdinfo/N */
	uint64_t device;      /* makedev() of the super block */
	char file_system[16]; /* "ext4", "nfs4", "fuse.slow" */
	char source[32];      /* "loop3" (without /dev/), "server:/x"; its end is cut when longer */
};

/* proc_root: "/proc", or a recorded tree. 0 or -errno. */
int mounts_open(struct mounts **mounts, const char *proc_root);
void mounts_close(struct mounts *mounts); /* accepts NULL */

/* Forgets what is older than MOUNTS_KEPT_NS: poll(2) reports changes in the caller's own mount name space only, and a
 * container's mount may have gone and left its numbers to another. Call it regularly, with a clock that does not go
 * back. */
void mounts_expire(struct mounts *mounts, uint64_t now_ns);

/* The mount, looked up in the mount name space of `pid` when it is not known yet. What is known is forgotten when the
 * caller's own mount table changes, and by mounts_expire(). NULL: not there (sockets, pipes, unreadable). Valid until
 * the next call. */
const struct mount_entry *mounts_by_device(struct mounts *mounts, pid_t pid, uint64_t device);
const struct mount_entry *mounts_by_id(struct mounts *mounts, pid_t pid, int32_t id);

#endif
