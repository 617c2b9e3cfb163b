/* SPDX-License-Identifier: MIT */
/* Makes and checks the directory of a black box: mode 0700, owned by this user, no symbolic link, in memory. Uses libc
 * only. */
#ifndef BLACKBOX_DIRECTORY_H
#define BLACKBOX_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

enum { BOX_WHY = 256 };

/* Opens `path` (O_PATH) and makes missing directories. With named_by_user (RANKWATCH_DIR) any missing component is
 * made, symbolic links on the way are followed, and the last component is checked. Otherwise the last two components
 * are made and checked, and the rest must exist. Returns the descriptor, which the caller closes, or -errno and a
 * sentence in why[BOX_WHY]. */
int box_directory_open(const char *path, bool named_by_user, char *why);

/* Bytes that this user can still use in the file system of fd; UINT64_MAX when it has no limit. */
unsigned long long box_directory_free(int fd);

#endif
