/* SPDX-License-Identifier: MIT */
/* Every limit that decides a finding, with the constant that the code uses: `rankwatch help KIND` prints those of a
 * kind. */
#ifndef ANALYSIS_NUMBERS_THRESHOLDS_H
#define ANALYSIS_NUMBERS_THRESHOLDS_H

#include <stddef.h>

#include <rankwatch/finding.h>

enum threshold_unit {
	THRESHOLD_TIME,    /* value in nanoseconds */
	THRESHOLD_SHARE,   /* 0 to 1 */
	THRESHOLD_COUNT,   /* of what the meaning says */
	THRESHOLD_FACTOR,  /* times something */
	THRESHOLD_BINADES, /* powers of two */
};

struct threshold {
	enum rw_kind kind; /* a limit of several kinds has a row for each */
	const char *name;  /* of the constant */
	double value;
	enum threshold_unit unit;
	const char *meaning; /* the end of a sentence that begins with the value */
};

extern const struct threshold thresholds[];
extern const size_t threshold_count;

/* "20 ms", "3 %", "2 ×", "8": returns text. */
const char *threshold_text(char *text, size_t room, const struct threshold *threshold);

#endif
