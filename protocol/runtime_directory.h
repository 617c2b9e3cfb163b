/* SPDX-License-Identifier: MIT */
/* The directory of the socket (struct address). */
#ifndef PROTOCOL_RUNTIME_DIRECTORY_H
#define PROTOCOL_RUNTIME_DIRECTORY_H

#include <sys/types.h>

/* Made when it is missing. Names in /tmp can be squatted: only a directory that is ours, and that nobody else may write
 * to, will do. Its descriptor or -errno (-EPERM: not such a one). */
int runtime_directory_open(const char *path);

/* The user's XDG_RUNTIME_DIR, `path`, or NULL where it cannot serve: it is not set, is not there, is another user's (su
 * and sudo can leave it set), or others may write to it. Collector and its clients must ask alike. */
const char *runtime_directory_usable(const char *path, uid_t user);

#endif
