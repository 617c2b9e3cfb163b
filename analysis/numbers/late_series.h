/* SPDX-License-Identifier: MIT */
/*
 * Has a rank become late for good? One number a rank and row tells what it was late by, in ms, signed; a row is a step
 * or a few short ones (analysis/late/rows.h). The answer needs no distribution: the rank was not late before, has been
 * late in the newest rows by about as much in each, and nobody else was ever late by half of that: in any row where
 * noise lasts, and over LATE_SERIES_RUN rows where each row is a new draw. docs/analysis.md, "Late by step".
 *
 * Lateness that was there from the first row on, that creeps, or that comes now and then is not looked for here.
 */
#ifndef ANALYSIS_NUMBERS_LATE_SERIES_H
#define ANALYSIS_NUMBERS_LATE_SERIES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LATE_SERIES_ROWS_MIN = 6,   /* rows since it became late, at least, … */
	LATE_SERIES_ROWS_MAX = 16,  /* … and at most: over more of them noise that lasts is as steady; … */
	LATE_SERIES_ROWS_LONG = 40, /* … where noise does not last, so many at most */
	LATE_SERIES_BEFORE = 12,    /* known rows before that are looked at, at most, … */
	LATE_SERIES_BEFORE_MIN = 5, /* … and so many, at least */
	LATE_SERIES_CALM = 3,       /* in each of them it was late by such a part, at most, … */
	LATE_SERIES_CALM_FAR = 2,   /* … or by such a one in the older half where noise does not last, … */
	LATE_SERIES_CALM_MEAN = 4,  /* … and on average by such a one */
	LATE_SERIES_FIRST = 3,      /* rows of the job warm up */
	LATE_SERIES_ROUGH = 2,      /* times as much as others it may change by from row to row */
	LATE_SERIES_OUTLIERS = 7, /* one of so many rows since then may be one in which it was late by less than half */
	LATE_SERIES_BEYOND = 2,   /* times as late as any other rank ever was, unless a finding explains that, … */
	LATE_SERIES_RUN = 3,      /* … over so many rows on average where noise does not last */
	LATE_SERIES_MATES = 8,    /* one of so many ranks may be as late since then, as it may be at fault, too */
	LATE_SERIES_BESIDE = 2,   /* beside a rank that is named another one must be late by such a part of it */
	LATE_SERIES_KEPT = 256,   /* rows of history a rank */
	LATE_SERIES_MEMORY = 64,  /* rows over which it is measured how long noise lasts */
	LATE_SERIES_PAIRS = 32,   /* rows of other ranks show that, at least; … */
	LATE_SERIES_OUTLYING = 3, /* … of each counts so many times the root mean square of the rank's at most, … */
	LATE_SERIES_OUTLYING_ROWS = 8, /* … once so many are known */
};
#define LATE_SERIES_SHARE   0.03 /* of a row is what a lateness must cost, … */
#define LATE_SERIES_COST_MS 20.0 /* … and so much, if that is more … */
#define LATE_SERIES_STEADY  0.65 /* of the median are its quartiles since then, at least, and its inverse at most */
#define LATE_SERIES_COST    1.2  /* … and so many rows, in all, since it began */
#define LATE_SERIES_GOES_ON 0.95 /* of noise is left a row later, at most, is what can be measured */
#define LATE_SERIES_LASTS   0.3  /* noise lasts where more of it than this is left a row later */

/* Sums over a rank's rows and the one before each of them, of which older ones count less. */
struct late_noise {
	double rows, sum_ms, squares;
	double products, further; /* with the row before, and with the one before that */
};

/* What all ranks that are not named show of how long noise lasts: of each of their rows, and of its products with the
 * row before and the one before that, what their means are not. */
struct late_noise_sums {
	double rows, squares, products, further;
};

/* One rank's past. */
struct late_past {
	/* By row % LATE_SERIES_KEPT, what it worked longer than it is measured by, and was inside operations less;
	 * signed, NAN: not known. It was late by the smaller one. */
	float longer_ms[LATE_SERIES_KEPT], less_ms[LATE_SERIES_KEPT];
	struct late_noise noise;
	uint64_t explained; /* up to this row a finding explains what it was late by; 0 none did */
	uint32_t place;     /* where it is: the same number for ranks that may be late together; 0: nowhere */
	uint32_t alike;     /* ranks that are compared with each other, this one among them; of two one is early by what
			     * the other one is late by */
	bool open;          /* it is named */
};

struct late_series {
	struct late_past *pasts;
	uint32_t count; /* of pasts */
	uint32_t *placed, places; /* by place: how many ranks are there */
	struct late_noise_sums noise;
	uint64_t row;   /* the newest, from 1 on; 0 none yet */
};

/* Room for so many ranks: those that are new have no past. false: there is no memory, and nothing has changed. */
bool late_series_has(struct late_series *series, uint32_t count);
/* Ranks of one place, as a host, may all be late by one fault: who is late together with another of its place is not
 * measured by that. place: from 1 on; on lack of memory it is nowhere. */
void late_series_place(struct late_series *series, uint32_t index, uint32_t place);
/* The next row begins: nothing is known of any rank in it. */
void late_series_begin(struct late_series *series);
/* What this rank worked longer in it, and was inside operations less. alike: as many ranks are
 * compared with each other. */
void late_series_put(struct late_series *series, uint32_t index, double longer_ms, double less_ms, uint32_t alike);
/* All ranks are put that are known in the newest row: what follows may be asked. */
void late_series_end(struct late_series *series);
/* Has this one become late for good? row_ms: how long rows usually last. */
bool late_series_is_proven(const struct late_series *series, uint32_t index, double row_ms);
/* Was it late by half of what a lateness must cost in the newest row? */
bool late_series_is_late(const struct late_series *series, uint32_t index, double row_ms);
/* For how many rows what the other ranks are late by lasts, from 1 on: of so many rows one is independent (Bartlett
 * 1935). LATE_SERIES_KEPT where too little was seen. */
double late_series_noise_rows(const struct late_series *series, uint32_t index);
/* What it was late by so many rows before the newest one; 0 where that is not known. */
double late_series_late_ms(const struct late_series *series, uint32_t index, uint32_t back);
/* It is named, or no longer: to be said once a row. */
void late_series_open(struct late_series *series, uint32_t index, bool open);
/* Rows are cut anew and last so many times as long: what was seen holds in proportion. */
void late_series_scale(struct late_series *series, double times);
/* Rows are cut anew: nothing that was seen holds, but who is named stays so. */
void late_series_forget(struct late_series *series);
void late_series_free(struct late_series *series);

#endif
