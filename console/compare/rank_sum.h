/* SPDX-License-Identifier: MIT */
/*
 * Is one sample larger than another? The rank-sum test: H. B. Mann, D. R. Whitney, "On a test of whether one of two
 * random variables is stochastically larger than the other", Annals of Mathematical Statistics 18 (1947), pages 50 to
 * 60; with the normal approximation, corrected for ties and for continuity. It asks for no shape of the noise, but that
 * one sample says nothing of the next: hence batches.
 */
#ifndef CONSOLE_COMPARE_RANK_SUM_H
#define CONSOLE_COMPARE_RANK_SUM_H

#include <stddef.h>

enum {
	RANK_SUM_LEAST = 8,    /* of each side: below, the approximation says little */
	RANK_SUM_BATCHES = 30, /* B. Schmeiser, "Batch size effects in the analysis of simulation output", Operations
				* Research 30 (1982), pages 556 to 568: more than 10 to 30 gain next to nothing */
};

/* Replaces the samples, which are in order of time, by the medians of at most RANK_SUM_BATCHES stretches of equal
 * length: noise that lasts from one to the next is in one batch. Returns how many there are. */
size_t rank_sum_batch(double *samples, size_t count);
/* The median; sorts. count > 0. */
double rank_sum_median(double *samples, size_t count);
/* Probability of ranks at least as unlike if both sides were alike, both sides counted; 1 where a side has fewer than
 * RANK_SUM_LEAST, or on lack of memory. Sorts neither. */
double rank_sum(const double *a, size_t a_count, const double *b, size_t b_count);

#endif
