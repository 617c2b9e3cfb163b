/* SPDX-License-Identifier: MIT */
/*
 * Is a rank late beyond what the noise of its peers explains? Noise can last from step to step, have heavy tails, and
 * hit all ranks of a host at once; none of it is assumed to be otherwise. What a rank was late by for so many steps in
 * a row (an excursion) is compared with the excursions of the same length that the other ranks have made in this job. A
 * tolerance is taken off each lateness: ranks differ for good. docs/analysis.md, "Straggler".
 */
#ifndef ANALYSIS_LATE_EXCURSION_H
#define ANALYSIS_LATE_EXCURSION_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/late/excursions.h"

enum {
	EXCURSION_STEPS_MIN = 8, /* of the job, before anybody is named */
	EXCURSION_PART = 8,      /* one of so many ranks may be as late: it may be at fault, too */
	EXCURSION_SHORTER = 3,   /* times as long as the others' it is compared with, where noise does not last */
	EXCURSION_SEEN = 300,    /* excursions that have nothing to do with each other: so many show what is usual */
	EXCURSION_ONE_STEPS = 24, /* with one other rank, or host, it takes so many, … */
	EXCURSION_STEADY = 16,    /* … and so many times what the lateness changes by from step to step */
	EXCURSION_STEADY_LONG = 8, /* … over EXCURSION_LONG steps, of one that has jumped and does not wander */
	EXCURSION_STEADY_STEPS = 12, /* so steadily late for so many, it need not be known how long noise lasts */
	EXCURSION_OWN_PAST = 6,   /* steps before, at least, of a rank that has no others */
	EXCURSION_LONG = 24,     /* steps, with one other rank, or host, and where it is half as steady */
	EXCURSION_QUIET = 2,      /* times the largest that was seen, or the noise of a measurement where nobody else
				   * was ever late */
	EXCURSION_DOUBT = 2,      /* standard errors */
	EXCURSION_NEVER = 3,      /* times may be what was not seen at all */
	EXCURSION_ROW_MIN = 3,    /* steps in a row, at least, make a lateness */
	EXCURSION_PAST = 12,      /* steps before one are looked at: was the rank late in them already? */
	EXCURSION_BEFORE = 1,     /* … and so many of them may be a quarter as late */
	EXCURSION_STANDS = 2,     /* whole steps in each step: that is no work that takes longer */
	EXCURSION_UNUSUAL = 20,   /* one in so many steps of the others is unusual; a jump does not begin at one */
	EXCURSION_EARLY = 24, /* steps of the job: until then … */
	EXCURSION_EARLY_TIMES = 2, /* and until noise has come and gone so often */
	EXCURSION_EARLY_PAST = 2, /* … so many of them must have been otherwise */
	EXCURSION_NO_NOISE_STEADY = 6, /* times what it changes by */
	EXCURSION_STRIKING = 2,   /* times the 95th percentile of everybody's lateness in … */
	EXCURSION_STRIKING_STEPS = 20,
};
#define EXCURSION_EARLY_SHARE 0.2  /* … it must cost so much of the step, … */
#define EXCURSION_NO_NOISE    0.33 /* … or so much, from the first step on, however it varies */
#define EXCURSION_LASTS      0.8  /* of noise that is left a step later, until they have shown otherwise */
#define EXCURSION_KNOWN      0.3  /* standard errors of what is left, together: that nothing is seen to be left tells
				   * something */
#define EXCURSION_EVEN      1.5  /* times the least of a few steps may be the most of them */
#define EXCURSION_STEADY_PART 0.75 /* of the changes in EXCURSION_STEADY_STEPS */

struct stragglers;
struct suspect;
struct peers;

/* Late for some steps in a row, by limit_ns at least in three quarters of them, beyond all that chance may bring? Its
 * latest lateness is in the step that the peers stand in. */
bool excursion_is_proven(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns);
/* Has it been late by limit_ns for three steps, and others hardly ever? Not proven, but worth to ask why. */
bool excursion_is_striking(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns);
/* Steps after which a lateness of the others has little to do with the one before; at least 1. */
double excursion_lasts(const struct stragglers *stragglers, const struct suspect *suspect);

#endif
