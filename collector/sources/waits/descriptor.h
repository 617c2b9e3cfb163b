/* SPDX-License-Identifier: MIT */
/*
 * What an open descriptor of another process stands for, from /proc/PID/fd/N and /proc/PID/fdinfo/N.
 * Neither touches the file system behind it, so a hung mount cannot hang the reader. Read with the rights that the
 * thread has chosen (owner_rights.h).
 */
#ifndef COLLECTOR_SOURCES_WAITS_DESCRIPTOR_H
#define COLLECTOR_SOURCES_WAITS_DESCRIPTOR_H

#include "collector/sources/waits/mounts.h"

struct descriptor {
	/* "/x/events.out", "socket:[4711]", "socket:[4711] to 10.0.0.7:443" (TCP), "pipe:[4712]",
	 * "anon_inode:[eventpoll]" */
	char path[256];
	uint64_t inode;       /* 0: not known (kernels before 5.14 do not say) */
	uint64_t device;      /* makedev(), 0: not known */
	char file_system[16]; /* "" not known; sockfs, pipefs, anon_inodefs as the kernel calls them */
	char device_name[32];
};

/* 0 or -errno (-ENOENT closed, -EACCES another user's, -ESRCH process gone); `descriptor` is all zero then. */
int descriptor_read(const char *proc_root, pid_t pid, int fd, struct mounts *mounts, struct descriptor *descriptor);

#endif
