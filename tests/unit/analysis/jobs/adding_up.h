/* SPDX-License-Identifier: MIT */
/* Does the account of each rank add up to its time? Counted again from the operations that the analysis still knows. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_ADDING_UP_H
#define TESTS_UNIT_ANALYSIS_JOBS_ADDING_UP_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/analysis.h"

/* What does not add up within 0.1 % is written to `out`; how many ranks have an account in *ranks. */
bool adding_up(FILE *out, const struct analysis *analysis, uint32_t *ranks);

#endif
