/* SPDX-License-Identifier: MIT */
/*
 * Judges an instance's values as soon as all expected results of scans are there, else after VALUES_SETTLE_NS: was data
 * corrupted, where did a NaN begin, do magnitudes drift?
 */
#ifndef ANALYSIS_MATCH_VALUE_JUDGING_H
#define ANALYSIS_MATCH_VALUE_JUDGING_H

#include <stdbool.h>
#include <stdint.h>

struct analysis;

/* Judges the instances of analysis->values that are due; over: no more records will come. */
void value_judging_tick(struct analysis *analysis, bool over, uint64_t now_ns);

#endif
