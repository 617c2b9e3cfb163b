/* SPDX-License-Identifier: MIT */
/* Finds ranks that are late repeatedly: docs/analysis.md, "Straggler". */
#ifndef ANALYSIS_LATE_STRAGGLER_H
#define ANALYSIS_LATE_STRAGGLER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/measure/pace.h"
#include "analysis/late/suspect.h"

enum {
	STRAGGLER_HISTORY_MIN = 5, /* fewest instances that are a history of a pipelined rank */
	STRAGGLER_CLEAN = 5,       /* steps in a row that close the finding */
	STRAGGLER_OWN_WORK = 8,    /* instances at a place whose work is a pipelined rank's own history … */
	STRAGGLER_PASSES = 64,     /* of a pipeline, seen, before what may be passes is taken for steps */
	STRAGGLER_LEARNS = 64,     /* … of which one that is late counts as longer than usual by so small a part, … */
	STRAGGLER_LEARNS_LESS = 32, /* … and one that is quicker as shorter by this one */
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
	struct intermittent *intermittents; /* likewise */
	uint32_t intermittent_count;
	struct unknown_share *unknown_shares; /* likewise */
	uint32_t unknown_share_count;
	struct places *places; /* by process */
	uint32_t places_count;
	struct pace pace;
	uint32_t clock;           /* process whose first operation starts a step; JOB_NONE none yet */
	uint64_t clock_ns;        /* when the newest step of that clock began */
	uint32_t numberings;      /* counts how often steps were numbered anew */
	uint64_t first_step;      /* accounted for; 0 none */
	uint64_t measured_step;   /* the first one in which a rank could be seen to be late; 0 none, or first_step */
	uint64_t newest_step;     /* that has begun by that clock */
	uint64_t noted_step;      /* newest that analysis/late/excursion.h has counted */
	uint64_t weighed_step;    /* newest that analysis/late/intermittent.h has judged */
	uint64_t longest_wait_ns; /* earliest enqueue to last arrival, of all instances so far */
};

struct analysis;

/* Takes a judged instance whose place in the step is known. Call it once for each instance. */
void straggler_account(struct analysis *analysis, struct instance *instance);
/* Opens, updates and closes findings. */
void straggler_tick(struct analysis *analysis, uint64_t now_ns);
void stragglers_free(struct stragglers *stragglers);

#endif
