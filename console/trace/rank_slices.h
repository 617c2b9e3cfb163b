/* SPDX-License-Identifier: MIT */
/* What is shown of one rank: its operations and where its threads were, as slices on tracks, and the changes of what is
 * counted. One thread. */
#ifndef CONSOLE_TRACE_RANK_SLICES_H
#define CONSOLE_TRACE_RANK_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/trace/box_operations.h"
#include "console/trace/event.h"
#include "console/trace/rank_tracks.h"
#include "console/trace/slices.h"
#include "console/trace/stays.h"

/* A change of what is counted. */
struct rank_change {
	uint64_t at_ns;
	int64_t by;
};

struct rank_changes {
	struct rank_change *list;
	size_t count;
	const char *name;
};

/* Operations of one stream that were launched and not seen on the GPU. */
struct rank_queue {
	uint32_t communicator;
	uint64_t stream;
	uint32_t first, count;
};

enum { RANK_QUEUES = 64 }; /* streams beyond count as the last */

struct rank_slices {
	struct box_operations operations;
	struct stays stays;
	struct rank_tracks tracks;
	struct slices slices; /* in order; `about` is an index into operations or stays */
	struct rank_changes in_flight, bad_values;
	struct rank_queue queues[RANK_QUEUES];
	size_t queue_count;
	uint64_t end_ns;   /* of the record, by the box's clock */
	int64_t offset_ns; /* from there to the trace's */
	struct trace_window window; /* by the trace's clock */
};

/* Of what reaches into the window. 0, -ENOMEM, or the -errno that ended the reading: what came before is there. Free in
 * every case. */
int rank_slices_read(struct rank_slices *rank, const struct box_reader *reader, uint64_t end_ns, int64_t offset_ns,
		     const struct trace_window *window);
void rank_slices_free(struct rank_slices *rank);

/* The trace's time of a time in the box. */
uint64_t rank_slices_time(const struct rank_slices *rank, uint64_t ns);
/* Is it known when the GPU reached it, and that it was there until something that is known? */
bool rank_slices_on_gpu(const struct rank_slices *rank, const struct rw_operation *operation);

#endif
