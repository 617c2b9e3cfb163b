/* SPDX-License-Identifier: MIT */
/* One run, seen again from its black boxes, as a trace. */
#ifndef CONSOLE_TRACE_EXPORT_H
#define CONSOLE_TRACE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/boxes/boxes.h"
#include "console/cli/progress.h"
#include "console/trace/event.h"
#include "console/trace/rank_trace.h"

struct export_result {
	struct rank_trace_counts counts;
	size_t ranks, hosts, findings;
	size_t clocks; /* groups of hosts whose clocks cannot be compared with each other's */
	int32_t ranks_total; /* of the job; below 1: not known */
	uint64_t merged; /* events of traces of PyTorch's profiler */
	bool truncated; /* a box could not be read to its end; it has been said */
};

/* Traces of PyTorch's profiler that are to stand beside. */
struct export_merges {
	char **paths;
	size_t count;
};

/* What of the run is wanted. */
struct export_choice {
	int32_t rank;       /* only this world rank; -1: all */
	/* A finding's id, a kind (the first of it), or "step N". Only what reaches into the seconds around its begin,
	 * of a step also around its end; NULL: all */
	const char *around;
	uint32_t around_s;
};

/* Replays the entries of one run (which takes over their readers) and writes them to the sink, whose format and file
 * are set. merges: may be empty; else the format must take raw events. command: its full name, for what is said on
 * stderr. 0, -ENOMEM, -ENOTSUP where the build lacks the format, -EBADMSG where one of the merges cannot be used or
 * there is no such rank, finding or step, which has been said. Stops early when the sink's file fails. */
int export_run(struct trace_sink *sink, struct box_entry *entries, size_t count, const struct export_merges *merges,
	       const struct export_choice *choice, const char *command, struct progress *progress,
	       struct export_result *result);

#endif
