/* SPDX-License-Identifier: MIT */
/*
 * Steps that took longer than the others: the first ones, in which a job starts up, and single ones later, as those
 * with an evaluation or a checkpoint. People take them for failures, and they are none where no rank waited for
 * another.
 */
#ifndef ANALYSIS_MEASURE_STEP_COURSE_H
#define ANALYSIS_MEASURE_STEP_COURSE_H

#include "analysis/analysis.h"

enum { STEP_COURSE_LEAST = 12 }; /* steps known one by one, before anything is said */
#define STEP_COURSE_LONG     1.5 /* times the usual: a step is long … */
#define STEP_COURSE_LONG_MS  20.0 /* … if it is so much longer, too */
/* times the median: what three quarters of all steps take at most, or nothing is told */
#define STEP_COURSE_EVEN     1.25
#define STEP_COURSE_RARE     0.25 /* of all steps at most: else they are not the exception */
#define STEP_COURSE_SETTLED  1.25 /* times the usual at most: the job has started up … */
#define STEP_COURSE_SETTLED_STEPS 3 /* … when so many steps in a row are as short */

void step_course_tell(const struct analysis *analysis, struct analysis_step_course *told);

#endif
