/* SPDX-License-Identifier: MIT */
/*
 * A command of the collector's own command line that is run for findings: with /bin/sh -c, one at a time, the finding
 * as one line of JSON on its standard input, its output thrown away. Beside the event loop; never waits for the
 * command.
 */
#ifndef COLLECTOR_SINKS_COMMAND_H
#define COLLECTOR_SINKS_COMMAND_H

#include <stdint.h>
#include <uv.h>

enum { COMMAND_SINK_QUEUE = 32, COMMAND_SINK_LIMIT_MS = 30000 };

struct command_sink;

/* command: copied. limit_ms: a command that takes longer is killed, with what it started in its session. It may have as
 * many files open as programs usually may, whatever descriptor_limit_raise() did for the collector. NULL: no memory. */
struct command_sink *command_sink_open(uv_loop_t *loop, const char *command, uint64_t limit_ms);
/* Runs the command for the line (without a newline) when its turn comes. Beyond COMMAND_SINK_QUEUE waiting ones it is
 * dropped. The first failure and the first drop are said on stderr. Accepts NULL. */
void command_sink_put(struct command_sink *sink, const char *line);
/* Lines whose command has not ended yet; 0 for NULL. */
unsigned command_sink_pending(const struct command_sink *sink);
/* Runs the loop until all commands have ended or the time is over; then kills what runs and says how many findings it
 * was not run for. Accepts NULL. */
void command_sink_finish(struct command_sink *sink, uint64_t timeout_ms);
/* After command_sink_finish(), when the loop has run to its end. Accepts NULL. */
void command_sink_close(struct command_sink *sink);

#endif
