/* SPDX-License-Identifier: MIT */
/*
 * How likely is it that what looks like a fault is chance? A job of a million steps sees everything once that has a
 * chance of one in a million, so what is seen is weighed by how often there was occasion for it.
 */
#ifndef ANALYSIS_CHANCE_H
#define ANALYSIS_CHANCE_H

#include <stdbool.h>

#define CHANCE_MAX 0.01 /* that a test is ever deceived in a job */

/* Not to be expected once in so many occasions. */
static inline bool chance_is_excluded(double chance, double occasions)
{
	return chance * occasions < CHANCE_MAX;
}

#endif
