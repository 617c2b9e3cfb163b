/* SPDX-License-Identifier: MIT */
/*
 * Was something left out of a step? Where an operation does not come that the pattern has next, the steps wait for it
 * at its place: what comes meanwhile may be an evaluation, and the step goes on behind it. Or the program left out some
 * operations (it skipped the optimiser), goes on behind them, and ends its step: then it comes to that place again a
 * step later. This is the second reading, held beside the first one until it has explained all of a step but what was
 * left out.
 */
#ifndef ANALYSIS_STEPS_OMISSION_H
#define ANALYSIS_STEPS_OMISSION_H

#include <stdbool.h>
#include <stdint.h>

struct omission {
	uint32_t ahead;   /* places that this reading is ahead of where the steps wait; 0: nobody reads so */
	uint32_t omitted; /* operations that it takes as left out */
	uint32_t matched, extras; /* operations since then that it explains, and that it does not */
	uint32_t unbroken;        /* explained since the last that was left out */
	uint32_t run;     /* the newest in a row that it explains */
	uint32_t ends;    /* those of steps, among what it explains */
	bool by_first, by_others; /* whose threads' operations it explains: a backward pass is among them, or is not */
};

/* What the steps know of the next operation. */
struct omission_call {
	uint32_t signature;
	uint32_t position; /* the place that the steps wait at, before they take this one */
	bool fits;         /* it is the one they wait for */
	uint64_t fitting;  /* and so were as many in a row before it */
	bool ends;         /* it ends a step: period_ends() */
};

struct omission_pattern {
	const uint32_t *signatures;
	uint32_t length;
	bool ended; /* its steps are known by their ends */
};

enum omission_verdict {
	OMISSION_NONE,
	/* a step has gone by: the steps wait at the same place of the next one. Begin anew with {0} */
	OMISSION_SHOWN,
	OMISSION_DOUBTFUL, /* a step without its end, or one that has two passes: nobody can know */
};

/* One call after the other, from the first that does not fit, for as long as the pattern is the same. */
enum omission_verdict omission_add(struct omission *omission, const struct omission_pattern *pattern,
				   const struct omission_call *call);

#endif
