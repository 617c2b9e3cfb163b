/* SPDX-License-Identifier: MIT */
/*
 * Does a rank's lateness stay what it is? Noise that lasts got where it is by steps, and wanders on by such; what is
 * wrong with a rank often costs the same each time. That tells one from the other where the others have shown little.
 */
#ifndef ANALYSIS_NUMBERS_STEADINESS_H
#define ANALYSIS_NUMBERS_STEADINESS_H

#include <stdbool.h>
#include <stdint.h>

struct suspect;

/* How many times as large `level_ns` is as what the rank's lateness changed by from one step to the next, in `part` of
 * so many steps (2 to PEERS_LENGTH_MAX) up to its latest late one; infinite where it did not change. */
double steadiness(const struct suspect *suspect, uint32_t length, uint64_t level_ns, double part);

/* Over so many steps (2 to PEERS_LENGTH_MAX) up to its latest late one: is what a lateness has to do with the one
 * before more than half of it, as with noise that lasts? By von Neumann's ratio, which is 2 where they have nothing to
 * do with each other. */
bool wanders(const struct suspect *suspect, uint32_t length);

#endif
