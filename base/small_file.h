/* SPDX-License-Identifier: MIT */
/* A file that is read as a whole: those of /proc, which come in pieces. */
#ifndef BASE_SMALL_FILE_H
#define BASE_SMALL_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* name: as openat(2) takes it. How many bytes stand in `text`, which is ended with a 0 byte also on error; what does
 * not fit into `room` is left out. Or -errno. */
ssize_t small_file_read(int directory, const char *name, char *text, size_t room);

#endif
