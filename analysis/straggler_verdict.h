/* SPDX-License-Identifier: MIT */
/* The two tests of docs/findings.md, "Straggler". The thresholds are in analysis/straggler.h. */
#ifndef ANALYSIS_STRAGGLER_VERDICT_H
#define ANALYSIS_STRAGGLER_VERDICT_H

#include "analysis/straggler.h"

/* Last, or nearly so, in most of the latest instances at this place, and the steps are late for it by limit_ns. */
bool straggler_is_always_late(const struct stragglers *stragglers, const struct suspect *suspect,
			      const struct place *place, uint32_t member, uint64_t limit_ns);
/* Late by limit_ns three steps in a row, each far beyond what is usual for this rank and for everybody. */
bool straggler_has_changed(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t limit_ns);

/* How much more often was who was late by that much, others than the suspect, late again so many steps later than anybody is
 * in any? 0: these have nothing to do with each other, 1: noise lasts for ever. */
double straggler_persistence(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t late_ns,
			     uint32_t steps);

#endif
