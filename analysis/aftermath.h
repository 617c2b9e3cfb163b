/* SPDX-License-Identifier: MIT */
/*
 * What came of bad values: how much a finding about them weighs is told by that, and not by their kind. Padding and
 * masks reach no sum over ranks; what a loss scale made too large is gone in the next step: docs/analysis.md, "What
 * came of it".
 */
#ifndef ANALYSIS_AFTERMATH_H
#define ANALYSIS_AFTERMATH_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/origin_story.h"

#define AFTERMATH_STEPS   2            /* so many steps in a row a loss scale may be too large */
#define AFTERMATH_WAIT_NS 30000000000u /* or three steps: then what has not been seen is not going to be */

enum aftermath {
	AFTERMATH_OPEN,     /* it is too early to say */
	AFTERMATH_SPOILT,   /* a result that adds over ranks is bad */
	AFTERMATH_NUMBERS,  /* … but only of numbers outside of the training steps: an evaluation's */
	AFTERMATH_HARMLESS, /* all came round once more, and no such result was bad */
	AFTERMATH_SCALED,   /* fp16 on several ranks, and the same places were clean again at once */
	AFTERMATH_UNSEEN,   /* nobody saw what came of it */
};

/* waited: no more is to be expected. */
enum aftermath aftermath_judge(const struct analysis *analysis, const struct origin_story *story, bool waited);
/* It is told: where its ranks had it last, analysis/stains.h. */
void aftermath_stain(struct analysis *analysis, const struct origin_story *story);
/* The story's bad values so far are nobody's fault from now on. learn: and their places in the step are usually bad. */
void aftermath_excuse(const struct analysis *analysis, const struct origin_story *story, bool learn);

#endif
