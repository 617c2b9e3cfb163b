/* SPDX-License-Identifier: MIT */
/* One rank under observation: what its lateness cost in each of the last steps, and what the tests have found so
 * far. */
#ifndef ANALYSIS_LATE_SUSPECT_H
#define ANALYSIS_LATE_SUSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/late/excursions.h"
#include "analysis/known/instances.h"
#include "analysis/late/intermittent.h"

enum {
	STRAGGLER_STEPS = 64,      /* steps of history per rank */
	STRAGGLER_KEPT_BY_ALL = STRAGGLER_STEPS - 4, /* … of which all ranks keep so many before the job's newest: some
						      * number theirs further */
};
#define STRAGGLER_COST_MIN_NS 20000000u /* a rank counts as late in a step that it makes longer by so much, … */
#define STRAGGLER_SHARE_MIN   0.03      /* … or by this part of the step, if that is more */

/* Cost of a rank's lateness in one step. */
struct blame {
	uint64_t step, late_ns;
	uint64_t shown_ns; /* the part of it by which others cannot have been late, too, without being seen */
	uint64_t host_ns, device_most_ns; /* parts of it: the host's, and the longest of the device's */
	uint64_t worst_ns; /* its longest lateness at once, … */
	const struct instance *worst; /* … and its instance, as long as that has this serial */
	uint32_t serial;
	uint32_t member : 30;
	bool untold : 1; /* its step may have another number, or there was no history yet to measure it by */
	bool partly : 1; /* some of its operations of this step show no lateness of any rank: it may have been later */
};

/* How much of a rank's lateness may be an unseen wait. The weight of older steps decreases with each late step. */
struct unknown_share {
	uint64_t step, late_ns, after_unknown_ns; /* after_unknown: at operations that are
						   * OPERATION_AFTER_UNKNOWN_END */
};

/* One rank under observation, by index of the rank. */
struct suspect {
	struct blame blames[STRAGGLER_STEPS];            /* by step % STRAGGLER_STEPS */
	struct cause_window windows[CAUSE_WINDOWS];      /* when others waited for it … */
	struct cause_window host_windows[CAUSE_WINDOWS]; /* … and since its previous launch */
	uint32_t window_count;                           /* ever; window i is at i % CAUSE_WINDOWS */
	struct instance last;                            /* its latest late instance, without the operations … */
	struct operation last_operation;                 /* … but its own */
	uint64_t step;                                   /* of the latest lateness */
	uint32_t host;
	uint32_t group; /* analysis/numbers/alike.h: it is compared with ranks of the same group */
	uint64_t striking_ns;  /* start of the instance at which it became worth finding out why it is late; 0 = it is
				* not */
	uint64_t decided_ns;   /* start of the instance at which a test decided that it is late; 0 = not suspected */
	uint64_t candidate_ns; /* tick at which that was first seen; 0 = not yet */
	uint64_t told_ns;
	uint64_t since_step, before_ns; /* the first late step, and how long steps took before; each 0: not known */
	bool untold;    /* since_step may have another number */
	uint32_t clean; /* steps in a row without lateness */
	uint64_t ended_step; /* `step` when the last one ended */
	bool open;
	struct excursions excursions;
	struct intermittent *intermittent; /* of the stragglers that owns it */
};

/* The least cost at which a rank counts as late in a step: STRAGGLER_COST_MIN_NS or STRAGGLER_SHARE_MIN of the step. */
uint64_t suspect_limit_ns(uint64_t step_ns);
/* The cost in that step; all 0 where the rank was in time, or the step is no longer kept. */
struct blame suspect_blame(const struct suspect *suspect, uint64_t step);
/* shown_ns of that cost. */
static inline uint64_t suspect_shown_ns(const struct suspect *suspect, uint64_t step)
{
	const struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];

	return blame->step == step ? blame->shown_ns : 0;
}
/* The window in which the cause of an operation's lateness is searched. It ends when the rank arrived, or when its host
 * had launched the late operation, if that has other work of the rank before it on the GPU. */
struct cause_window suspect_window(const struct operation *operation);
/* The same, but the window begins at the previous launch. */
struct cause_window suspect_host_window(const struct operation *operation);
/* From now on the rank is suspected; at_ns: since when that could be known. */
void suspect_decide(struct suspect *suspect, uint64_t at_ns);
/* How many steps lie between two times that it is late, on average; at least 1. */
double suspect_interval(const struct intermittent *intermittent);

#endif
