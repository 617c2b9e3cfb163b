/* SPDX-License-Identifier: MIT */
/*
 * Where a pipeline ends: which of its ranks computes the loss, found from what the ranks sent each other in one step.
 * Nothing in a Send says whether it carries an activation or a gradient; counts per direction and the order of a rank's
 * own calls have to do.
 */
#ifndef ANALYSIS_MEASURE_PIPELINE_SHAPE_H
#define ANALYSIS_MEASURE_PIPELINE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

struct pipeline_call {
	uint32_t peer; /* index of a rank of the pipeline */
	bool sends;
};

/* What one rank called in one step, in its own order. */
struct pipeline_rank {
	const struct pipeline_call *calls;
	uint32_t count;
};

enum pipeline_end {
	PIPELINE_NONE,   /* these ranks are no pipeline: nobody begins it, or some have more than two neighbours */
	PIPELINE_OPEN,   /* it is one, and may end on either of two ranks */
	PIPELINE_LIKELY, /* it ends where it would in the schedules that are known to make such calls … */
	PIPELINE_CERTAIN /* … or where it must, whatever the schedule */
};

struct pipeline_shape {
	enum pipeline_end end;
	uint32_t first, last; /* where it begins, and where the loss is; PIPELINE_OPEN: one of the two has the loss */
};

/* At least two ranks. Any thread; no memory is allocated. */
struct pipeline_shape pipeline_shape_find(const struct pipeline_rank *ranks, uint32_t count);

#endif
