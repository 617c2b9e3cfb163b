/* SPDX-License-Identifier: MIT */
/* Does a series rise or fall beyond chance, and how fast? Both by all of its pairs, so that a few values that stand out
 * do not matter. Pure; several threads may call at once. */
#ifndef ANALYSIS_NUMBERS_TREND_H
#define ANALYSIS_NUMBERS_TREND_H

#include <stddef.h>

/* How many pairs rise, less those that fall, in standard deviations of what chance makes of it (Mann 1945, Kendall
 * 1948): above 0 it rises. Equal values count for neither, which makes it smaller. That of independent values: noise
 * that lasts comes farther. 0 of fewer than two values. */
double trend_score(const double *values, size_t count);

/* Change of the values by one unit of `at`, which ascends: the median over all pairs (Theil 1950, Sen 1968). Of more
 * than TREND_VALUES an even choice is taken. 0 of fewer than two values, or without memory. */
enum { TREND_VALUES = 128 };
double trend_slope(const double *at, const double *values, size_t count);

/* The median, the upper one of two; 0 of none. Puts the values, none of them NaN, into another order. */
double trend_median(double *values, size_t count);

#endif
