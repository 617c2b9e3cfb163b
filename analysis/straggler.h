/* SPDX-License-Identifier: MIT */
/* Finds ranks that are late repeatedly: docs/analysis.md, "Straggler". */
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
	STRAGGLER_PACE = 20,       /* steps whose median is the usual step time */
	STRAGGLER_REACH = 3,       /* how many steps back a cause is searched */
	STRAGGLER_HISTORY_MIN = 5, /* fewest instances that are a history of a pipelined rank */
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
	uint32_t group; /* analysis/alike.h: it is compared with ranks of the same group */
	uint64_t striking_ns;  /* start of the instance at which it became worth finding out why it is late; 0 = it is not */
	uint64_t decided_ns;   /* start of the instance at which a test decided that it is late; 0 = not suspected */
	uint64_t candidate_ns; /* tick at which that was first seen; 0 = not yet */
	uint64_t told_ns;
	uint64_t since_step, before_ns; /* the first late step, and how long steps took before; each 0: not known */
	bool untold;    /* since_step may have another number */
	uint32_t clean; /* steps in a row without lateness */
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
	double noise_lasts;       /* assumed share of noise that is left a step later, until data show otherwise; 0: EXCURSION_LASTS */
	uint32_t clock;           /* process whose first operation starts a step; JOB_NONE none yet */
	uint64_t clock_ns;        /* when the newest step of that clock began */
	uint32_t numberings;      /* counts how often steps were numbered anew */
	uint64_t first_step;      /* accounted for; 0 none */
	uint64_t newest_step;     /* that has begun by that clock */
	uint64_t noted_step;      /* newest that analysis/excursion.h has counted */
	uint64_t weighed_step;    /* newest that analysis/intermittent.h has judged */
	uint64_t longest_wait_ns; /* earliest enqueue to last arrival, of all instances so far */
};

struct analysis;

/* Takes a judged instance whose place in the step is known. Call it once for each instance. */
void straggler_account(struct analysis *analysis, struct instance *instance);
/* The least cost at which a rank counts as late in a step: STRAGGLER_COST_MIN_NS or STRAGGLER_SHARE_MIN of the step. */
uint64_t straggler_limit_ns(uint64_t step_ns);
/* The cost in that step; all 0 where the rank was in time, or the step is no longer kept. */
struct blame straggler_blame(const struct suspect *suspect, uint64_t step);
/* shown_ns of that cost. */
static inline uint64_t straggler_shown_ns(const struct suspect *suspect, uint64_t step)
{
	const struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];

	return blame->step == step ? blame->shown_ns : 0;
}
/* The window in which the cause of an operation's lateness is searched. It ends when the rank arrived, or when its host had
 * launched the late operation, if that has other work of the rank before it on the GPU. */
struct cause_window straggler_window(const struct operation *operation);
/* The same, but the window begins at the previous launch. */
struct cause_window straggler_host_window(const struct operation *operation);
/* From now on the rank is suspected; at_ns: since when that could be known. */
void straggler_decide(struct suspect *suspect, uint64_t at_ns);
/* Whether a cause is seen for so much of its lateness that it is not chance. */
bool straggler_is_explained(struct analysis *analysis, uint32_t rank);
/* Opens, updates and closes findings. */
void straggler_tick(struct analysis *analysis, uint64_t now_ns);
void stragglers_free(struct stragglers *stragglers);

#endif
