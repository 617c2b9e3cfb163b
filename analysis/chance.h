/* SPDX-License-Identifier: MIT */
/*
 * How likely is it that what looks like a fault is chance? A job of a million steps sees everything once that has a
 * chance of one in a million, so what is seen is weighed by how often there was occasion for it.
 */
#ifndef ANALYSIS_CHANCE_H
#define ANALYSIS_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

#define CHANCE_MAX 0.01 /* that a test is ever deceived in a job */

/* That something which happens with this probability each time happens at least `least` times of `times`. */
double chance_at_least(uint32_t least, uint32_t times, double each);
/* That it happens so many times in a row. */
double chance_in_a_row(uint32_t times, double each);
/* Not to be expected once in so many occasions. */
bool chance_is_excluded(double chance, double occasions);

#endif
