/* SPDX-License-Identifier: MIT */
/*
 * Which rank works longer than its peers, a little before each operation? What no single operation shows adds up: over
 * windows of time, cut alike for all ranks and whether or not steps are known, a rank is late by what it works longer than
 * the median of the ranks that do the same, and waits less than they do; the smaller of the two. So a victim, which waits
 * less in one communicator because it has waited in another, is not late. Whether that is beyond chance analysis/late/excursion.h
 * says, as it does for steps. docs/analysis.md, "Straggler".
 */
#ifndef ANALYSIS_LATE_SUMS_H
#define ANALYSIS_LATE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/late/straggler.h"

enum {
	SUMS_KEPT = 4,        /* windows that are open at once */
	SUMS_STEPS = 2,       /* that a window holds, at least; exactly so many where they take longer than SUMS_WINDOW_NS */
	SUMS_OFF = 16,        /* windows are cut anew when steps change by such a part, … */
	SUMS_SETTLED = 12,    /* … and once so many windows were judged, … */
	SUMS_OFF_LATER = 4,   /* … when they change by such a one */
	SUMS_LATEST = 3,      /* the median of so many steps may be longer by the latter part, or windows are not compared */
	SUMS_TOLD = 12,       /* windows that the cost is told of */
	SUMS_LEFT = 6,        /* windows that the tests of steps have for what single operations show */
	SUMS_STEADY = 8,      /* times as much as it changes by from one to the next: then it is no noise that lasts */
	SUMS_COSTS_LESS = 4,  /* times as much as it costs a rank works longer: it is not told where no cause is seen */
	SUMS_MOST = 4,        /* of a host that is late as a whole all ranks but one in so many are named by themselves */
	SUMS_FAIR = 3,        /* times as much it must work longer as it saw operations end at another time than others did */
	SUMS_EVEN_PART = 6,   /* windows of a part (analysis/numbers/evenly.h), … */
	SUMS_EVEN_STEPS = 64, /* … or more, so that all parts together hold so many steps, … */
	SUMS_EVEN_PART_MAX = 15, /* … but no more windows than that: STRAGGLER_STEPS of them are kept */
	SUMS_EVEN_OTHERS = 3, /* other ranks that must be known in each */
	SUMS_UNLIKE = 16,     /* who has one in so many operations more or less than the median does not do the same */
};
#define SUMS_WINDOW_NS 2000000000u /* or SUMS_STEPS steps, if they take longer */
#define SUMS_WINDOW_MAX_NS 3600000000000u
#define SUMS_SHOWN_WHOLE 0.875 /* of a row's lateness */
#define SUMS_WHOLE     0.98        /* of a window that must be accounted for */
#define SUMS_KEEPS     0.9375
#define SUMS_NOISE_LASTS 0.5       /* from one window to the next, at least, … */
#define SUMS_NOISE_LASTS_STEP 0.9  /* … and so much from one step to the next, as long as a window holds few of them */
#define SUMS_SHARE_MIN 0.04        /* of the time that a rank works longer */
#define SUMS_UPDATE_NS 10000000000u

/* What is summed of one rank in one window. */
struct sums_window {
	uint64_t number; /* from 0 of the clock on */
	uint64_t own_ns, inside_ns, unseen_ns; /* waits and transfers are inside */
	uint64_t host_ns, device_ns;           /* of own_ns: the host launched later than that; it had launched well before */
	uint64_t unlaunched_ns;                /* of own_ns: when the host launched is not known */
	uint64_t single_ns;                    /* what single operations were seen late by … */
	uint64_t stepped_ns;                   /* … those that steps are found in, which replays of graphs are not */
	uint64_t met_ns, held_ns; /* what it came later by to collectives than most did, and than all others did */
	int64_t shift_ns;                      /* how much later it saw operations end than all ranks did on average */
	uint32_t operations;
};

/* What is known of a rank's operation by those of the others. */
struct sums_meeting {
	uint64_t mean_ns; /* when all ranks saw it end, on average; 0 not known of all */
	bool replay;      /* of a graph */
	uint64_t late_ns; /* what it came later by than most did, beyond noise; 0 also of two, which in a pipeline come by schedule … */
	uint64_t held_ns; /* … and than all others did */
};

struct sums_rank {
	struct sums_window windows[SUMS_KEPT]; /* by number % SUMS_KEPT */
	/* Of late windows, by number: as above. */
	uint64_t host_ns[STRAGGLER_STEPS], device_ns[STRAGGLER_STEPS], unlaunched_ns[STRAGGLER_STEPS], single_ns[STRAGGLER_STEPS], stepped_ns[STRAGGLER_STEPS], met_ns[STRAGGLER_STEPS], held_ns[STRAGGLER_STEPS];
	int64_t shift_ns[STRAGGLER_STEPS];
	/* Of each window that it was judged in: what it worked longer than the median, and was inside operations less;
	 * negative: the reverse. */
	int64_t longer_ns[STRAGGLER_STEPS], less_ns[STRAGGLER_STEPS];
	uint64_t unmet_ns, unmet_number; /* what it worked longer in that window, and nobody waited for yet */
	uint32_t group; /* analysis/numbers/alike.h, of the latest window */
	double operations; /* in all windows; each counts SUMS_KEEPS of the next one */
	uint32_t clean; /* windows in a row */
	bool of_two; /* it was compared with one other rank, in the latest window */
	bool even; /* suspected since it is late evenly */
	bool by_rows; /* suspected by analysis/late/rows.h, which decides until when, too */
	uint64_t theirs; /* the newest window in which the tests of steps suspected it, too */
	bool told;      /* a finding of these sums is open */
};

struct sums {
	const struct job *job;
	struct sums_rank *ranks; /* by rank */
	uint32_t rank_count;
	uint64_t step_ns;                 /* that the windows were cut by; 0 not known */
	uint64_t window_ns, next, newest; /* number of the next one to be judged, and of the newest */
	uint64_t current, current_ns;     /* the one that was asked for last, and its beginning: 0 at 0 after window_ns has changed */
	uint64_t uneven; /* windows up to this number hold too little of a step to be compared; 0 none */
	struct stragglers watched;        /* its steps are windows; of the suspects only what excursion.h looks at, and … */
};

/* Stretches of a rank, in order of time; `part` as in the account. */
void sums_note(struct sums *sums, uint32_t rank, enum analysis_part part, uint64_t from_ns, uint64_t until_ns);
/* An operation that it ended. */
void sums_note_operation(struct sums *sums, uint32_t rank, const struct operation *operation, const struct sums_meeting *meeting);
/* An operation at which own work of the rank ended, from_ns to until_ns, and when its host had launched it; launch_ns
 * 0: not known. */
void sums_note_launch(struct sums *sums, uint32_t rank, uint64_t from_ns, uint64_t launch_ns, uint64_t until_ns);
/* The share of the time by which a rank that is suspected must be late: SUMS_SHARE_MIN or EVENLY_SHARE. */
double sums_least_share(const struct sums_rank *rank);
/* Opens, updates and closes findings. After straggler_tick(): what that has found is not told twice. */
void sums_tick(struct analysis *analysis, uint64_t now_ns);
void sums_free(struct sums *sums);

#endif
