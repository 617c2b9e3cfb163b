/* SPDX-License-Identifier: MIT */
/*
 * Traces of PyTorch's profiler beside the operations of the same processes, on one clock: Kineto's times are
 * CLOCK_REALTIME, which every black box ties to its own. One thread.
 */
#ifndef CONSOLE_TRACE_KINETO_MERGE_H
#define CONSOLE_TRACE_KINETO_MERGE_H

#include "console/replay/host_clocks.h"
#include "console/replay/replay.h"
#include "console/trace/event.h"
#include "console/trace/kineto_file.h"

/* One file, once it is known whose it is. */
struct kineto_merge {
	const char *path;
	struct kineto_head head;
	size_t process; /* of the replay */
	uint64_t events;
};

/* Finds out of which process of the run the trace is: of the rank that it names and the process that its CPU events are
 * of, at a time at which that was recorded. Reads the whole file, so that what is wrong with it is known before
 * anything is written. 0, -errno, or -EBADMSG with `why`. */
int kineto_merge_open(struct kineto_merge *merge, const char *path, const struct replay *replay, char why[KINETO_WHY]);
/* Writes its events to the sink, whose format takes raw ones. Its processes get numbers from *next on, their place
 * behind that of their rank. As above. */
int kineto_merge_write(struct kineto_merge *merge, struct trace_sink *sink, const struct replay *replay,
		       const struct host_clocks *clocks, uint32_t *next, char why[KINETO_WHY]);

#endif
