/* SPDX-License-Identifier: MIT */
/*
 * The one way in which text of somebody else reaches a terminal or a log: what a black box, a path, a thread, a host, a
 * job, a communicator, a kernel log line, a findings file or the other end of a socket holds may be any bytes.
 * Printable UTF-8 stays as it is. Every byte of what could move the cursor, start an escape sequence, end the line,
 * reorder or hide what stands beside it, or is no UTF-8, becomes \xNN. Any thread.
 */
#ifndef BASE_FOREIGN_TEXT_H
#define BASE_FOREIGN_TEXT_H

#include <stdio.h>

/* The escaped text, malloc'ed for the caller; NULL without memory. */
char *foreign_text(const char *text);
/* Prints the text escaped; "?" for NULL and without memory. */
void foreign_put(FILE *out, const char *text);
/* printf() of one line, escaped as a whole, and a newline. The format holds no control characters of its own. */
void foreign_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
