/* SPDX-License-Identifier: MIT */
/* Which findings people are shown while a job runs, and how often. */
#ifndef FINDING_ANNOUNCER_H
#define FINDING_ANNOUNCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "finding/finding_text.h"

struct announcement;

struct announcer {
	FILE *text; /* people read it here; NULL: not */
	struct finding_style style;
	struct announcement *announcements; /* by kind and ranks */
	size_t count, room;
};

/* A finding from `warning` up is shown as text at most once a minute for the same kind and ranks, at first when its
 * cause is known or after a moment, and at once when it is over, also when it is no more than a notice by then.
 * Critical values that a rank makes after it was clean again are shown after a moment, which is twice as long each
 * time, up to a minute. Everything else is ignored, and so is what a collector that was started anew announces
 * again. */
void announcer_take(struct announcer *announcer, const json_t *finding, uint64_t now_ns);
/* Prints what is due. Call about ten times a second while something waits, and after announcer_take(). */
void announcer_tick(struct announcer *announcer, uint64_t now_ns);
/* Is there something to print later? */
bool announcer_waits(const struct announcer *announcer);
/* What says most of what was announced so far: the most severe, of these the first. A new reference; NULL none. */
json_t *announcer_worst(const struct announcer *announcer);
/* The job has ended: what was never shown, or not that it is over, or that it came back, is shown now. Frees; does not
 * close `text`. */
void announcer_finish(struct announcer *announcer);

#endif
