/* SPDX-License-Identifier: MIT */
/* What the analysis of one host keeps at most, with the constants that the code uses: the table of docs/analysis.md is
 * made of this one, and a test compares them. */
#ifndef ANALYSIS_NUMBERS_BOUNDS_H
#define ANALYSIS_NUMBERS_BOUNDS_H

#include <stddef.h>

struct bound {
	const char *name; /* of the constant */
	unsigned long most;
	const char *what;   /* is kept: the end of a sentence that begins with the number */
	const char *beyond; /* what becomes of more */
};

extern const struct bound bounds[];
extern const size_t bound_count;

#endif
