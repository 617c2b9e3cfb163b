/* SPDX-License-Identifier: MIT */
/*
 * Where a series changed for good: the levels that it was on, one after the other. Each part is cut in two where its
 * ranks differ most (Pettitt 1979), as long as chance does not explain that; a part that rises or falls (Mann and
 * Kendall) is a slope, or a level and a slope behind it, where that is nearer to the values. Pure; several threads may
 * call at once.
 */
#ifndef ANALYSIS_EXPLAIN_LEVELS_H
#define ANALYSIS_EXPLAIN_LEVELS_H

#include <stddef.h>

/* A stretch of values that are alike, but for a slope. */
struct lasting_level {
	size_t begin, end; /* values [begin, end) */
	double median;     /* of them */
	double slope;      /* for one unit of what they are at; 0: they neither rise nor fall */
};

enum {
	LEVELS_MOST = 32,
	LEVELS_VALUES = 2048, /* of a series; those behind are left out */
	LEVELS_LEAST = 6,     /* values of a level */
};
#define LEVELS_CHANCE 0.001 /* of a cut where nothing changed, if the values have nothing to do with each other */
#define LEVELS_CHANGE 0.05  /* of the level before: a smaller change is none */
#define LEVELS_TREND  4.0   /* standard deviations of Mann's and Kendall's statistic */

/* The levels in order, which hold all values; returns how many: 0 without values or memory. at: where each value is,
 * ascending; NULL: at 0, 1, 2, … */
size_t levels_find(const double *at, const double *values, size_t count, struct lasting_level levels[LEVELS_MOST]);

#endif
