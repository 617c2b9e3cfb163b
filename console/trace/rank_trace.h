/* SPDX-License-Identifier: MIT */
/* One rank's black box as one process of a trace: what the GPU did, what its threads called and where they stood, and
 * how many operations were in flight. Holds one box in memory (box_operations.h) and some 50 bytes for each slice of
 * it. One thread. */
#ifndef CONSOLE_TRACE_RANK_TRACE_H
#define CONSOLE_TRACE_RANK_TRACE_H

#include <jansson.h>

#include "console/replay/replay.h"
#include "console/trace/event.h"
#include "console/trace/group_table.h"
#include "console/trace/step_spans.h"

struct rank_trace_request {
	struct trace_sink *sink;
	const struct replay_process *process;
	const struct group_table *groups;
	uint32_t number;   /* of the process in the trace */
	const char *name;  /* likewise */
	int64_t offset_ns; /* to be added to the box's times */
	int32_t device;    /* ordinal of the rank's GPU, -1 not known */
	const struct step_span *steps; /* on the box's clock; NULL none is known */
	size_t step_count;
	const json_t *findings;
	int64_t findings_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC by which their times were written */
};

struct rank_trace_counts {
	uint64_t operations, unfinished;
};

/* Adds to *counts. 0 or -errno: what was read before is written all the same. */
int rank_trace_write(const struct rank_trace_request *request, struct rank_trace_counts *counts);

#endif
