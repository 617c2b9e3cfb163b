/* SPDX-License-Identifier: MIT */
/* Findings as JSON lines, appended to a file or to standard output. */
#ifndef FINDING_JSONL_H
#define FINDING_JSONL_H

/* "-" is standard output. A file that does not exist is made for its owner's eyes only (0600): findings name files and
 * hosts. Returns a descriptor (STDOUT_FILENO for "-") or -errno: -ENXIO for a FIFO that nobody reads. Writes to one
 * that nobody empties fail with -EAGAIN. */
int jsonl_open(const char *path);
/* One line in one write, so that several writers to one file do not mix. 0 or -errno. */
int jsonl_write(int fd, const char *line);
void jsonl_close(int fd); /* leaves standard output open; accepts a negative one */

#endif
