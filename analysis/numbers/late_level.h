/* SPDX-License-Identifier: MIT */
/*
 * Is a rank late by as much in each of four parts of the newest rows, and by far more than any other rank? This needs
 * no row before the lateness: so it finds a rank that was late from the first row on, and one that has crept there.
 * Ranks that differ for good are not so much further apart than the others are. docs/analysis.md, "Level".
 */
#ifndef ANALYSIS_NUMBERS_LATE_LEVEL_H
#define ANALYSIS_NUMBERS_LATE_LEVEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/numbers/late_series.h"

enum {
	LATE_LEVEL_PARTS = 4,
	LATE_LEVEL_ROWS = 10, /* a part has as many rows, at least */
	LATE_LEVEL_PART_MS =
	    6000,             /* a part lasts so long, at least, if that is no more than LATE_LEVEL_ROWS_MAX rows */
	LATE_LEVEL_LASTS = 2, /* a part has so many times the rows for which noise lasts, at least; likewise */
	LATE_LEVEL_ROWS_MAX = LATE_SERIES_KEPT / LATE_LEVEL_PARTS,
	LATE_LEVEL_PIECES = 5, /* of a part, in each of which a rank is late or early */
	LATE_LEVEL_BEYOND = 3, /* times as late in each part as any other rank was late or early in any suffices, at
				* least … */
	LATE_LEVEL_MEAN = 4,   /* … or so many times as late on average, with LATE_LEVEL_PART */
	LATE_LEVEL_ALIKE = 2,  /* times as late in one part as in another, at most, where the average counts */
	LATE_LEVEL_PAIR = 4,   /* times as late must be one of two ranks, which both may differ from others for good */
	LATE_LEVEL_OTHERS = 3, /* other ranks must be known, at least */
	LATE_LEVEL_MATES = 8,  /* one of so many ranks may be half as late, as it may be at fault, too */
	LATE_LEVEL_CHANCE = 500, /* one in so many jobs in which ranks of several hosts, or hosts, differ for good by
				  * chance may have one named */
	LATE_LEVEL_FAR = 4,      /* times as late as any other rank suffices, where that is more than ranks differ by */
};
#define LATE_LEVEL_SHARE 0.0125 /* of the time a rank must be late by in each part */
#define LATE_LEVEL_DIFFER 0.12 /* of the time is what ranks of several hosts may differ by for good */
#define LATE_LEVEL_PART  1.75   /* times as late in each part as any other in any, where the average counts */

/* What of working longer and being inside operations less counts: late where it does both, early where it does neither,
 * and else 0. */
static inline double late_level_either_way(double longer, double less)
{
	if (longer > 0 && less > 0)
		return fmin(longer, less);
	return longer < 0 && less < 0 ? fmax(longer, less) : 0;
}
/* How many times as late one rank, or host, must be as any of so many others, where they differ for good by chance:
 * that one of all is the latest by a factor of k has a chance of (others + 1) / k^others, which must be one in
 * LATE_LEVEL_CHANCE. */
static inline double late_level_beyond(double others)
{
	return others > 0 ? fmax(LATE_LEVEL_BEYOND, pow(LATE_LEVEL_CHANCE * (others + 1), 1 / others)) : INFINITY;
}
/* Was it late in the newest rows, so that it is worth being compared with all others? */
bool late_level_may_be(const struct late_series *series, uint32_t index, double row_ms);
/* Is it so, once all ranks are put into the newest row? row_ms: how long rows usually last; mostly: it must be late in
 * most rows. */
bool late_level_is_proven(const struct late_series *series, uint32_t index, double row_ms, bool mostly);
/* What it was late by in each of the newest LATE_LEVEL_PARTS parts of LATE_LEVEL_ROWS rows, on average; negative:
 * early. */
double late_level_mean_ms(const struct late_series *series, uint32_t index);
/* Is one that was found so as late in the newest part? */
bool late_level_lasts(const struct late_series *series, uint32_t index, double row_ms);

#endif
