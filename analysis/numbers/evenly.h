/* SPDX-License-Identifier: MIT */
/*
 * Is a rank late by little, but for a minute by as much, and by far more than the others? Ranks that differ for good, or by noise that
 * lasts, are not so much further apart than the others are. docs/analysis.md, "Evenly".
 *
 * The last minute is divided into parts. The callers add up each rank's lateness in them: analysis/late/sums.c from records of one host,
 * analysis/job/parts.c from the messages of many.
 */
#ifndef ANALYSIS_NUMBERS_EVENLY_H
#define ANALYSIS_NUMBERS_EVENLY_H

#include <math.h>
#include <stdbool.h>

enum {
	EVENLY_PARTS = 4,
	EVENLY_BEYOND = 3, /* times as late in each part as any other rank was in any part; or … */
	EVENLY_BEYOND_MEAN = 4, /* … so many times as late on average as any other rank was on average, if it was … */
	EVENLY_ALIKE = 2, /* … so many times as late in one part as in another, at most, and … */
};
#define EVENLY_BEYOND_PART 1.75 /* … so many times as late in each part as any other rank was in any */
#define EVENLY_SHARE 0.0125 /* of the time; a rank must be late by this share in each part */

/* By which share of the time a rank was late in each part; negative: it worked less than the others. */
struct evenly {
	double shares[EVENLY_PARTS];
};

/* The share of the part in which the rank was late by least. */
double evenly_least(const struct evenly *rank);
/* Whether the rank is late by EVENLY_SHARE or more in each part. */
static inline bool evenly_is_late(const struct evenly *rank)
{
	return evenly_least(rank) >= EVENLY_SHARE;
}
/* Either way: late where it works longer and is inside operations less, early where it works less and is inside
 * longer. */
static inline double evenly_smaller(double own, double inside)
{
	if (own > 0 && inside > 0)
		return fmin(own, inside);
	return own < 0 && inside < 0 ? fmax(own, inside) : 0;
}
/* Whether the rank is late by EVENLY_BEYOND times as much, in each part, as the other one ever differed from what is
 * usual, either way. */
bool evenly_is_far_from(const struct evenly *rank, const struct evenly *other);
/* The same of all parts together, by shares that are negative where a rank was early: noise that lasts for less than a
 * part is smaller on average over all of them, and what ranks differ by for good is not. It must have been late alike
 * in all parts. */
bool evenly_is_alike(const struct evenly *rank);
bool evenly_is_far_on_average(const struct evenly *rank, const struct evenly *other);

#endif
