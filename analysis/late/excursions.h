/* SPDX-License-Identifier: MIT */
/*
 * What each rank did so far: for how many steps in a row it was late, and by how much at least (an excursion), and how
 * long its noise lasts. The test of analysis/late/excursion.h compares a rank with it.
 */
#ifndef ANALYSIS_LATE_EXCURSIONS_H
#define ANALYSIS_LATE_EXCURSIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	EXCURSION_LENGTHS = 5,
	EXCURSION_SIZES = 64, /* four to each doubling, from LATENESS_NOISE_NS on */
	EXCURSION_LAGS = 6,   /* 1, 2, 4 … 32 steps */
	EXCURSION_FORGET = 4096, /* steps after which what was seen counts half */
	EXCURSION_WARM_UP = 1,   /* the first step, in which everybody is late by much, shows nothing */
	EXCURSION_USUAL = 24,     /* steps whose median lateness is what is usual of a rank, … */
	EXCURSION_USUAL_MIN = 8,  /* … where so many of them are known */
};
#define EXCURSION_TOLERANCE 0.02 /* of the step: ranks differ by that much for good */

/* How many excursions of each length and size a rank made, and what tells how long its noise lasts. */
struct excursions {
	uint16_t sizes[EXCURSION_LENGTHS][EXCURSION_SIZES];
	float steps, sum, squares, fourths; /* of the logarithm of its lateness: so many, their sum, and those of its
					     * powers */
	float pairs[EXCURSION_LAGS];  /* steps that had one so many before … */
	float products[EXCURSION_LAGS]; /* … and the sums of both logarithms' product */
};

struct stragglers;
struct suspect;

extern const uint32_t excursions_lengths[EXCURSION_LENGTHS]; /* steps that are counted of everybody */

/* A step is over, and all its records have come: what was everybody late by? */
void excursions_note(struct stragglers *stragglers, uint64_t step);
/* What this rank did so far was a fault: nobody is measured by it. */
void excursions_forget(struct suspect *suspect);
/* What it was late by, at least, in three quarters of so many steps (48 at most) up to this one; 0 also before the
 * first. */
uint64_t excursions_level_ns(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
			     uint32_t length);
/* Which of EXCURSION_SIZES a lateness counts as. */
uint32_t excursions_size(uint64_t ns);
/* By how much ranks may differ for good. */
uint64_t excursions_tolerance_ns(uint64_t step_ns);
/* What of a step's lateness is more than that. */
uint64_t excursions_beyond_tolerance(uint64_t late_ns, uint64_t step_ns);
/* What of a lateness is more than what is usual. */
uint64_t excursions_beyond(uint64_t late_ns, uint64_t usual_ns);
/* The rank's median lateness over the steps before this one, at most the tolerance; the tolerance where too few steps
 * are known. */
uint64_t excursions_usual_before_ns(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
				    uint64_t step_ns);

#endif
