/* SPDX-License-Identifier: MIT */
/* A directory that only its owner can enter: names in /tmp and /dev/shm can be squatted by anybody. */
#ifndef COLLECTOR_PRIVATE_DIRECTORY_H
#define COLLECTOR_PRIVATE_DIRECTORY_H

/* Makes `path` and its parent (0700) where missing and opens it. Returns the descriptor or -errno: -EPERM when it
 * belongs to somebody else or others may write to it, -ENOTDIR or -ELOOP when it is no directory of its own. */
int private_directory_open(const char *path);

#endif
