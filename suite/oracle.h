/* SPDX-License-Identifier: MIT */
/*
 * How soon could anybody know? A likelihood ratio test that knows everything about a drawn job except which rank is at
 * fault and since when: the form and the size of the fault, how the noise is made, what each rank works in each step.
 * It is the measure that the analysis is held against, and shares nothing with it.
 */
#ifndef SUITE_ORACLE_H
#define SUITE_ORACLE_H

#include <stdbool.h>

#include "suite/draw.h"
#include "suite/play.h"

/* In one of so many healthy jobs the oracle may accuse a rank: a tenth of 1 %, the rate that docs/analysis.md states
 * for the tests of lateness. */
enum { ORACLE_FALSE_ALARMS = 1000 };

/* Is the fault one of lateness, so that noise can hide it? */
bool oracle_applies(const struct suite_draw *draw);
/* Steps from the fault's first one to the one in which it knows all ranks at fault, that one included; 0: the job ends
 * before. */
int oracle_steps(const struct suite_draw *draw, const struct suite_course *course);

#endif
