/* SPDX-License-Identifier: MIT */
/*
 * What repeats at the end of a process's sequence of operations, and whether it is a training step: layers,
 * micro-batches and accumulated passes repeat, too, and do so before the first step is over.
 *
 * A step shows itself by how it ends: behind what one thread enqueued (autograd's, the backward pass) another one (the
 * training loop's) reduces single numbers: the norm of the gradients, the loss. A repetition with exactly one such end
 * is a step, unless all the rest of it is the same block several times: those can be passes that accumulate, or steps
 * of which only every tenth reports its loss. What the training loop itself passes on to another stage of a pipeline
 * may lie between the two.
 */
#ifndef ANALYSIS_STEPS_PERIOD_H
#define ANALYSIS_STEPS_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

/* The lowest bits of a signature; the others are a hash. */
enum period_mark {
	PERIOD_FIRST_THREAD = 1, /* enqueued by the thread that enqueued the first operation */
	PERIOD_NUMBER = 2,       /* reduces a few numbers */
	PERIOD_TRANSFER = 4,     /* sends or receives */
	PERIOD_MARKS = 7,
};

struct period {
	uint32_t length;    /* 0: nothing repeats */
	uint32_t explained; /* of the history, from its end: at least two repetitions of a step, else three */
	uint32_t start;     /* the first operation of a repetition; of a step: behind an end */
	bool step;          /* it is one, for certain */
};

/* The shortest that contains everything that recurs. O(count). Nothing is found without memory. */
struct period period_find(const uint32_t *signatures, uint32_t count);
/* Does a step start here: is the one before the last of those that end one? */
bool period_starts(const uint32_t *signatures, uint32_t at);

/* What came last, as far as it shows that a step ends. */
struct period_tail {
	bool number;                  /* the very last */
	bool known[2], by_first[2];   /* by thread: who enqueued the last that is not a transfer of this thread */
};

/* Nearly the same, as operations come: is this the first of the numbers that end a step? By its own thread, where
 * others of these numbers are another's. */
bool period_ends(struct period_tail *tail, uint32_t signature);

#endif
