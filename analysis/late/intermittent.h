/* SPDX-License-Identifier: MIT */
/*
 * Which rank is late again and again with good steps in between: a sequential test over all steps, for any interval.
 *
 * Where ranks are alike, who is the latest of a step is drawn anew in each step that somebody is late in: every rank
 * with a chance of one in their number. For each rank, each size of lateness and each of some shares that a faulty rank
 * may have of such steps, the likelihood ratio of that share to chance is multiplied up from step to step, from every
 * step on at which it may have begun, each beginning with a weight, so that the weights of all are one (a mixture of
 * e-processes: Ville 1939; Vovk and Wang 2021; for changes: Shin, Ramdas and Rinaldo 2022). Such a product reaches 1 /
 * a with a probability of at most a, however long the job: that is CHANCE_MAX for all ranks together. docs/analysis.md,
 * "Straggler".
 */
#ifndef ANALYSIS_LATE_INTERMITTENT_H
#define ANALYSIS_LATE_INTERMITTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/known/instances.h"

enum {
	INTERMITTENT_SIZES = 6,   /* each twice the one before, from what a step must cost to be late */
	INTERMITTENT_SHARES = 2,  /* of the late steps */
	INTERMITTENT_PAUSE = 5,   /* steps in which a rank that was the latest is not looked at: noise lasts for some */
	INTERMITTENT_GONE = 8,    /* … unless so large a part of it at most was left in the next step */
	INTERMITTENT_REPLICAS = 5, /* of a stage: with fewer of them all ranks of a pipeline are taken together, … */
	INTERMITTENT_FAR = 3,     /* … and only so many times what the next one was late by in any step counts */
	INTERMITTENT_TIMES = 4,   /* so often it was late, at least, whatever chance says, … */
	INTERMITTENT_TIMES_SEEN = 3, /* … or so often, where a cause is seen */
	INTERMITTENT_MARGIN = 10, /* times as much evidence as chance asks for: ranks are never quite alike */
	INTERMITTENT_CLEAN = 5,   /* times as long without as between two of them closes it */
};

/* One rank, one size, one share. */
struct bet {
	double evidence;
	uint32_t count;       /* steps that it was looked at in */
	uint32_t times;       /* it was the latest, since it seems to have begun … */
	uint64_t since, last; /* … and in which steps first and last */
	uint64_t paused_until;
	uint64_t late_ns; /* sum of these times */
};

struct intermittent {
	struct bet bets[INTERMITTENT_SIZES][INTERMITTENT_SHARES];
	/* While it is decided (suspect->decided_ns), by this test: */
	bool decided;
	uint32_t times;
	uint64_t since, last, late_ns, least_ns; /* as above; and what counts */
	struct cause_window windows[CAUSE_WINDOWS], host_windows[CAUSE_WINDOWS];
	uint32_t window_count;
	struct instance instance;   /* its latest, without the operations … */
	struct operation operation; /* … but its own */
};

struct analysis;
struct stragglers;
struct suspect;

/* Judges the steps that are over. Before the findings of this tick. */
void intermittent_tick(struct analysis *analysis, uint64_t now_ns);
/* Steps have been numbered anew. */
void intermittent_forget(struct suspect *suspect);

#endif
