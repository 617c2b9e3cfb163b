/* SPDX-License-Identifier: MIT */
/*
 * How likely it is that an apparent fault is chance. In a job of a million steps each event with a probability of one
 * in a million happens once. So the probability of an observation is weighed by how often it could have occurred.
 */
#ifndef ANALYSIS_NUMBERS_CHANCE_H
#define ANALYSIS_NUMBERS_CHANCE_H

#include <stdbool.h>

#define CHANCE_MAX 0.01 /* probability that a test is ever wrong by chance in a job */

/* Whether an event of that probability is not to be expected even once in that many occasions. */
static inline bool chance_is_excluded(double chance, double occasions)
{
	return chance * occasions < CHANCE_MAX;
}

#endif
