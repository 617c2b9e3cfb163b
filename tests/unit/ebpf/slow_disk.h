/* SPDX-License-Identifier: MIT */
/* A real ext4 on a loop device that the kernel throttles (cgroup v1 blkio). Root only. */
#ifndef TESTS_SLOW_DISK_H
#define TESTS_SLOW_DISK_H

#include <stdbool.h>

struct slow_disk {
	char folder[64]; /* image and mount point */
	char mount[80];
	char device[32]; /* "loop3", "" when there is none */
	bool mounted, throttled;
};

/* 0, or -errno with the reason in `why` (at least 200 bytes). bytes_per_second: of writing. */
int slow_disk_open(struct slow_disk *disk, unsigned long bytes_per_second, char *why);
void slow_disk_close(struct slow_disk *disk); /* accepts a half-open one */

#endif
