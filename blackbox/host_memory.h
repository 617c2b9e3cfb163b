/* SPDX-License-Identifier: MIT */
/*
 * How much memory this process can still use, of the machine and within its control groups (version 1 and 2). It uses
 * libc only, reads files of /proc and /sys/fs/cgroup and nothing else, and allocates nothing. Any thread may call it.
 */
#ifndef BLACKBOX_HOST_MEMORY_H
#define BLACKBOX_HOST_MEMORY_H

#include <stdint.h>

/* root is "", or the directory where a test has its /proc and /sys. Both functions return bytes, UINT64_MAX where
 * nothing is known. */

/* MemTotal, or the lowest limit of this process's control group and of the groups above it. */
uint64_t host_memory_total(const char *root);
/* MemAvailable, or what is left below the limit of this process's control group or of one above it, whichever is least.
 * A group's clean page cache counts as left: the kernel gives it back. memory.high counts as a limit, since a process
 * above it is slowed down. */
uint64_t host_memory_left(const char *root);

#endif
