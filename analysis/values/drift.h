/* SPDX-License-Identifier: MIT */
/* Finds magnitudes that leave their usual range at one place in the step, over steps: docs/findings/drift.md. */
#ifndef ANALYSIS_VALUES_DRIFT_H
#define ANALYSIS_VALUES_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#define DRIFT_HISTORY      8    /* times at a place before anything is compared with them */
#define DRIFT_IN_A_ROW     3    /* times beyond, then it is told */
#define DRIFT_PART         2.0f /* binades (× 4) beyond the largest distance from the others so far */
#define DRIFT_OTHERS_MIN   2    /* ranks to compare with */
#define DRIFT_ELEMENTS_MIN 256  /* the largest of fewer is chance: a loss, a norm */
#define DRIFT_NEAR_FP16    4.0f /* binades below the type's maximum */
#define DRIFT_NEAR_WIDE    64.0f /* the same for bf16, fp32: from there squares overflow, and norms are sums of them */
#define DRIFT_GROWN        4.0f /* binades above what was usual */
#define DRIFT_SATURATED    0.02f /* share of an fp8 buffer … */
#define DRIFT_SATURATED_BY 4.0f  /* … and times the usual share */

struct analysis;
struct instance;

/* By rank: since when its magnitudes have parted from the others'. */
struct drifts {
	uint64_t *parted_since; /* step; 0 not */
	uint32_t room;
};

void drift_judge(struct analysis *analysis, struct instance *instance, uint64_t now_ns);
/* The step since which this rank's magnitudes differ from the others'; 0: they do not. */
uint64_t drift_parted_since(const struct analysis *analysis, uint32_t rank);
/* Whether this member's inputs at this place have been growing towards the limit of their type. */
bool drift_is_rising(const struct instance *instance, uint32_t member);
void drifts_free(struct drifts *drifts);

#endif
