/* SPDX-License-Identifier: MIT */
/* Which rank is late again and again: docs/analysis.md, "Straggler". */
#ifndef ANALYSIS_STRAGGLER_H
#define ANALYSIS_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cause.h"
#include "analysis/excursion.h"
#include "analysis/instances.h"
#include "analysis/intermittent.h"
#include "analysis/job.h"
#include "analysis/pace.h"

enum {
	STRAGGLER_STEPS = 64,      /* steps of history per rank */
	STRAGGLER_PACE = 20,       /* steps whose median is how long one takes */
	STRAGGLER_REACH = 3,       /* steps back that a cause is looked for in */
	STRAGGLER_HISTORY_MIN = 5, /* instances without which a pipelined rank has no history */
	STRAGGLER_CLEAN = 5,       /* steps in a row that close the finding */
	STRAGGLER_OWN_WORK = 8,    /* instances at a place whose work is a pipelined rank's own history … */
	STRAGGLER_PASSES = 64,     /* of a pipeline, seen, before what may be passes is taken for steps */
	STRAGGLER_LEARNS = 64,     /* … of which one that is late counts as longer than usual by so small a part, … */
	STRAGGLER_LEARNS_LESS = 32, /* … and one that is quicker as shorter by this one */
};
#define STRAGGLER_COST_MIN_NS   20000000u
#define STRAGGLER_SHARE_MIN     0.03
#define STRAGGLER_SEEN_SHARE    0.5 /* of its lateness that a cause explains, which then tells it before chance is excluded */
#define STRAGGLER_HELD_SHARE 0.9 /* … and so much of it, where it sleeps, or waits for another thread or process that was seen to end that */

/* What a rank's lateness cost in one step. */
struct blame {
	uint64_t step, late_ns;
	uint64_t shown_ns; /* of it, what others cannot have been late by as well without being seen */
	uint64_t host_ns, device_most_ns; /* of it: the host's, and the longest of the device's */
	uint64_t worst_ns; /* its longest lateness at once, … */
	const struct instance *worst; /* … where, while that has this serial */
	uint32_t serial;
	uint32_t member : 30;
	bool untold : 1; /* of something whose step may have another number, or before there was a history to measure it by */
	bool partly : 1; /* it took part in operations of this step in which nobody could be seen late: it may have been later */
};

/* How much of a rank's lateness may be a wait that nobody saw. What is older counts less with each late step. */
struct veil {
	uint64_t step, late_ns, veiled_ns; /* veiled: at operations that are OPERATION_VEILED */
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
	uint32_t group; /* analysis/alike.h: it is compared with ranks of the same */
	uint64_t striking_ns;  /* start of the instance at which it was worth to ask why it is late; 0 = it is not */
	uint64_t decided_ns;   /* start of the instance at which a test said so; 0 = not suspected */
	uint64_t candidate_ns; /* tick at which that was first seen; 0 = not yet */
	uint64_t told_ns;
	uint64_t since_step, before_ns; /* the first late one, 0 not known; and how long steps took before, 0 not known */
	bool untold;    /* since_step may be another */
	uint32_t clean; /* steps in a row */
	uint64_t ended_step; /* `step` when the last one ended */
	bool open;
	struct intermittent intermittent;
	struct excursions excursions;
};

/* Statistics of one place in the step of one process. */
struct place {
	const struct communicator *communicator;
	int32_t source, target; /* of its transfers; -1 none */
	uint32_t *work_us; /* per member STRAGGLER_OWN_WORK, pipelined jobs only */
	uint32_t member_room, count;
};

/* Places of the step of one process. */
struct places {
	struct place *items;
	uint32_t count, version;
};

struct stragglers {
	struct suspect *suspects; /* by rank */
	uint32_t suspect_count;
	struct veil *veils; /* likewise */
	uint32_t veil_count;
	struct places *places; /* by process */
	uint32_t places_count;
	struct pace pace;
	double noise_lasts;       /* of noise so much may be left a step later, until it has shown otherwise; 0: EXCURSION_LASTS */
	uint32_t clock;           /* process whose first operation starts a step; JOB_NONE none yet */
	uint32_t numberings;      /* counts how often steps were numbered anew */
	uint64_t first_step;      /* accounted for; 0 none */
	uint64_t newest_step;     /* that has begun by that clock */
	uint64_t noted_step;      /* newest that analysis/excursion.h has counted */
	uint64_t weighed_step;    /* newest that analysis/intermittent.h has judged */
	uint64_t longest_wait_ns; /* earliest enqueue to last arrival, of all instances so far */
};

struct analysis;

/* A judged instance whose place in the step is known: each instance once. */
void straggler_account(struct analysis *analysis, struct instance *instance);
/* A step costs at least this much to be late: STRAGGLER_COST_MIN_NS or STRAGGLER_SHARE_MIN of it. */
uint64_t straggler_limit_ns(uint64_t step_ns);
/* All 0 where the rank was in time, or nobody remembers. */
struct blame straggler_blame(const struct suspect *suspect, uint64_t step);
/* Of that, what it was late by beyond what nobody sees of others. */
static inline uint64_t straggler_shown_ns(const struct suspect *suspect, uint64_t step)
{
	const struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];

	return blame->step == step ? blame->shown_ns : 0;
}
/* In which its cause is looked for: until it arrived, or until its host had launched what it came so late with, which has work
 * of its own before it on the GPU. */
struct cause_window straggler_window(const struct operation *operation);
/* … since its previous launch. */
struct cause_window straggler_host_window(const struct operation *operation);
/* From now on it is suspected; at_ns: since it could be known. */
void straggler_decide(struct suspect *suspect, uint64_t at_ns);
/* Is a cause seen for so much of its lateness that this is no chance? */
bool straggler_is_explained(struct analysis *analysis, uint32_t rank);
/* Opens, updates and closes findings. */
void straggler_tick(struct analysis *analysis, uint64_t now_ns);
void stragglers_free(struct stragglers *stragglers);

#endif
