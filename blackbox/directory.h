/* SPDX-License-Identifier: MIT */
/* The directory of a black box, made and checked: 0700, ours, no symbolic link, in memory. libc only. */
#ifndef BLACKBOX_DIRECTORY_H
#define BLACKBOX_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

enum { BOX_WHY = 256 };

/* Opens `path` (O_PATH), making what is missing. named_by_user (RANKWATCH_DIR): any missing component is made, links on
 * the way are followed, the last component is checked. Otherwise the last two components are made and checked and the
 * rest must exist. Returns the descriptor or -errno and a sentence in why[BOX_WHY]. */
int box_directory_open(const char *path, bool named_by_user, char *why);

/* Bytes free to us in the file system of fd; UINT64_MAX when it has no limit. */
unsigned long long box_directory_free(int fd);

#endif
