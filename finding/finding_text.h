/* SPDX-License-Identifier: MIT */
/* A finding as people read it: some 4 lines of 100 columns, broken where the terminal is narrower, from its JSON (so
 * that it also prints what a newer collector sent: unknown kinds and keys are shown or ignored, never fatal). Text from
 * the job is escaped. */
#ifndef FINDING_FINDING_TEXT_H
#define FINDING_FINDING_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

struct finding_style {
	bool colour; /* ANSI colour for the kind */
	bool clock;  /* begins with the local time of day: for text that comes while a job runs */
	bool whole;  /* what is closed, too, and when it was found: for who reads of a job that is over */
	int width;   /* columns after which lines are broken at a space; 0: never */
	const char *job; /* which the reader knows of: findings of others name theirs; "": all do; NULL: none does */
};

/* Prints the finding; style NULL: none of these. Returns 0 or -EPROTO when it is not a finding. */
int finding_print(FILE *out, const json_t *finding, const struct finding_style *style);

#endif
