/* SPDX-License-Identifier: MIT */
/* The largest finite magnitudes of each communicator, step by step, for those who look: into the table of
 * analysis/known/cells.h. What follows from them is for analysis/values/drift.h to say. */
#ifndef ANALYSIS_MEASURE_MAGNITUDES_H
#define ANALYSIS_MEASURE_MAGNITUDES_H

struct analysis;
struct instance;

/* Notes what scans have seen of this instance since it was last noted. Whole numbers and bytes of
 * unknown type have none; losses and norms (value_is_number()) are left out. */
void magnitudes_note(struct analysis *analysis, struct instance *instance);

#endif
