/* SPDX-License-Identifier: MIT */
/*
 * The file that a command makes: under another name until it is whole, so that neither a full disk nor a signal leaves
 * half of one. What is no regular file (a pipe, a device), and standard output, are written to directly. One at a time
 * in a process.
 */
#ifndef CONSOLE_TRACE_OUTPUT_H
#define CONSOLE_TRACE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *stream; /* write here */
	int fd;
	struct gzFile_s *packed; /* NULL: not compressed */
	int error;               /* errno of the first write that failed */
	bool temporary;
	char path[PATH_MAX], name[PATH_MAX]; /* the one that is asked for; the one that is being written */
};                                           /* stays where it is while it is open */

/* path "-": standard output. gzip: compresses what is written. From here to the end SIGINT, SIGTERM and SIGHUP remove
 * the temporary file before they end the process, unless they were ignored. 0 or -errno. */
int output_open(struct output *output, const char *path, bool gzip);
/* Gives the file its name. 0, or -errno of the first write that failed: then it is removed. */
int output_finish(struct output *output);
/* Removes it; an earlier file of that name stays. */
void output_abandon(struct output *output);

#endif
