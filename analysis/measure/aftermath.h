/* SPDX-License-Identifier: MIT */
/*
 * The consequences of bad values, which decide the severity of a finding about them; their kind does not. Padding and
 * masks reach no sum over ranks, and overflows of a too large loss scale are gone in the next step: docs/analysis.md,
 * "What came of it".
 */
#ifndef ANALYSIS_MEASURE_AFTERMATH_H
#define ANALYSIS_MEASURE_AFTERMATH_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/values/origin_story.h"

#define AFTERMATH_STEPS   2            /* most steps in a row in which a loss scale may be too large */
#define AFTERMATH_WAIT_NS 30000000000u /* or three steps: consequences not seen by then are not expected any more */

enum aftermath {
	AFTERMATH_OPEN,     /* it is too early to say */
	AFTERMATH_SPOILT,   /* a result that adds over ranks is bad */
	AFTERMATH_NUMBERS,  /* … but only of numbers outside of the training steps: an evaluation's */
	AFTERMATH_HARMLESS, /* all came round once more, and no such result was bad */
	AFTERMATH_SCALED,   /* fp16 on several ranks, and the same places were clean again at once */
	AFTERMATH_UNSEEN,   /* the consequences were not seen */
};

/* Judges the consequences so far. waited: no more are to be expected. */
enum aftermath aftermath_judge(const struct analysis *analysis, const struct origin_story *story, bool waited);
/* It is told: where its ranks had it last, analysis/measure/last_bad.h. */
void aftermath_note_last_bad(struct analysis *analysis, const struct origin_story *story);
/* From now on no rank is blamed for the story's bad values so far. learn: their places in the step also count as
 * usually bad. */
void aftermath_excuse(const struct analysis *analysis, const struct origin_story *story, bool learn);

#endif
