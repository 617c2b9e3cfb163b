/* SPDX-License-Identifier: MIT */
/*
 * Lines that are appended to a file, or go to standard output, by a caller that never waits for the file: a process of
 * its own opens it and writes. So a FIFO that nobody reads, or a file system that does not answer, holds up nobody.
 * Lines wait meanwhile, up to LINE_SINK_ROOM bytes; what is more is left out. Standard output is written by the caller
 * itself, as by any program. One thread.
 */
#ifndef FINDING_LINE_SINK_H
#define FINDING_LINE_SINK_H

#include <stdbool.h>

#define LINE_SINK_ROOM (4u << 20)

struct line_sink;

/* path: "-" is standard output; it and `who`, which begins each sentence on stderr, must outlive the sink. NULL on lack
 * of memory, processes or descriptors. */
struct line_sink *line_sink_open(const char *path, const char *who);
/* Waits for the file to be open. 0 when it is, or is not yet; -errno when it cannot be, which has been said. */
int line_sink_await(struct line_sink *sink, unsigned timeout_ms);
bool line_sink_is_stdout(const struct line_sink *sink); /* false for NULL */
/* Takes the line, which has no newline; a whole one comes in one write, so that several writers to one file do not mix.
 * Accepts NULL. */
void line_sink_put(struct line_sink *sink, const char *line);
/* Hands on what waits, and says on stderr, once each, what became of the file: waits for a reader, does not answer,
 * open at last, cannot be written. Call about ten times a second. Accepts NULL. */
void line_sink_tick(struct line_sink *sink);
/* Does it need that tick: is something not written yet, or not said? */
bool line_sink_is_busy(const struct line_sink *sink);
/* Waits for lines that are not written yet, says how many are not and why, frees. Accepts NULL. */
void line_sink_close(struct line_sink *sink, unsigned timeout_ms);

#endif
