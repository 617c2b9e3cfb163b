/* SPDX-License-Identifier: MIT */
/*
 * Is a rank late beyond what chance brings? One sequential test over a series of lateness by row: one number a rank and row, a step or a
 * few short ones. It is told in ms of own work beyond that of its peers, signed, and nothing is cut off.
 *
 * What chance brings is what the other ranks did so far in this job: a histogram of their lateness, and how much of it is left one to 32
 * rows later. Each lateness becomes its normal score in that histogram, beyond the largest by a tail that is fitted to it. For each of
 * some lengths the mean score of the newest rows is held against two hypotheses: nothing is the matter (level), and the rank is as it was
 * just before (contrast). Where few rows were seen the statistic becomes that of Student's t (Wallace 1959). The chance of a false alarm is
 * LATE_SERIES_ALPHA a job, divided by all tests that were made so far.
 *
 * A rank with an open finding is in nobody's histogram, nor is one that is half as late as the one that is tested, if few are.
 * docs/analysis.md, "Late by step".
 *
 * Nothing here is thread-safe: one analysis, one caller.
 */
#ifndef ANALYSIS_LATE_SERIES_H
#define ANALYSIS_LATE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LATE_SERIES_ROWS_MIN = 8,  /* rows of the job, before anybody is named */
	LATE_SERIES_LATE_MIN = 3,  /* late rows of the rank */
	LATE_SERIES_LONG = 24,     /* rows from which on LATE_SERIES_LONG_SHARE suffices */
	LATE_SERIES_USUAL = 24,    /* rows before, whose median is what is usual of a rank */
	LATE_SERIES_PART = 8,      /* one of so many other ranks may be late, too, and is left out */
	LATE_SERIES_KEPT = 256,    /* rows of history a rank */
	LATE_SERIES_BINS = 160,    /* of the histogram, four a doubling, for both signs */
	LATE_SERIES_LAGS = 6,      /* 1, 2, 4 … 32 rows */
};
#define LATE_SERIES_ALPHA      1e-3 /* chance of a false alarm, a job */
#define LATE_SERIES_SHARE      0.03 /* of a row is what a lateness must cost, … */
#define LATE_SERIES_COST_MS    20.0 /* … and so much, if that is more; … */
#define LATE_SERIES_LONG_SHARE 0.04 /* … over LATE_SERIES_LONG rows this share suffices where it is less than LATE_SERIES_COST_MS */
#define LATE_SERIES_TOLERANCE  0.02 /* of a row is what ranks may differ by for good */
#define LATE_SERIES_MARGIN     1.1  /* noise is taken to be larger by so much than it was seen to be */

/* One rank's past. */
struct late_past {
	float late_ms[LATE_SERIES_KEPT]; /* by row % LATE_SERIES_KEPT; NAN: not known */
	float scores[LATE_SERIES_KEPT];
	float sizes[LATE_SERIES_BINS];   /* how often it was late by about so much */
	double seen, sum, squares; /* of scores */
	double pairs[LATE_SERIES_LAGS], products[LATE_SERIES_LAGS];             /* of scores that are so many rows apart … */
	double tail_squares[LATE_SERIES_LAGS], tail_products[LATE_SERIES_LAGS]; /* … the first of which was large */
	bool open; /* it is named */
};

struct late_series {
	struct late_past *pasts;
	uint32_t count; /* of pasts */
	uint64_t row;   /* the newest, from 1 on; 0 none yet */
};

/* Room for so many ranks: those that are new have no past. false: there is no memory, and nothing has changed. */
bool late_series_has(struct late_series *series, uint32_t count);
/* The next row begins: nothing is known of any rank in it. */
void late_series_begin(struct late_series *series);
/* What this rank was late by in it; at most once a row. */
void late_series_put(struct late_series *series, uint32_t index, double late_ms);
/* Once all ranks are put: is this one late beyond chance? row_ms: how long rows usually last. */
bool late_series_is_proven(const struct late_series *series, uint32_t index, double row_ms);
/* Was it late by half of what a lateness must cost in the newest row? */
bool late_series_is_late(const struct late_series *series, uint32_t index, double row_ms);
/* What it was late by so many rows before the newest one; 0 where that is not known. */
double late_series_late_ms(const struct late_series *series, uint32_t index, uint32_t back);
/* The row is over: all of it that nobody's finding explains becomes part of what chance brings. */
void late_series_end(struct late_series *series, double row_ms);
void late_series_open(struct late_series *series, uint32_t index, bool open);
/* Rows are cut anew: nothing that was seen holds, but who is named stays so. */
void late_series_forget(struct late_series *series);
void late_series_free(struct late_series *series);

#endif
