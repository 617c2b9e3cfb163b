/* SPDX-License-Identifier: MIT */
/* The directory of the socket (struct address). */
#ifndef COLLECTOR_RUNTIME_DIRECTORY_H
#define COLLECTOR_RUNTIME_DIRECTORY_H

/* Made when it is missing. Names in /tmp can be squatted: only a directory that is ours, and that nobody else may write
 * to, will do. Its descriptor or -errno (-EPERM: not such a one). */
int runtime_directory_open(const char *path);

#endif
