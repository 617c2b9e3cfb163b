/* SPDX-License-Identifier: MIT */
/* All that is said of a family of jobs, held against the file in answers/ that has the family's name. */
#ifndef TESTS_UNIT_ANALYSIS_WHOLE_KEPT_ANSWERS_H
#define TESTS_UNIT_ANALYSIS_WHOLE_KEPT_ANSWERS_H

#include <stdbool.h>
#include <stdio.h>

#include <rankwatch/finding.h>

/* While kept_compare() plays. `all`: of one job, of which a number is kept; `answers`: kept word for word. */
extern struct kept {
	FILE *all, *answers;
	bool without_repeats; /* an update that says the same words as the finding before it is only in `all` */
} kept;

/* One finding, as it is told: in words, and all its keys. */
void kept_finding(const struct rw_finding *finding);
/* Only the keys. */
void kept_keys(const struct rw_finding *finding);

/* Plays the jobs 0, 1, … and compares; with a sanitizer each seventh. play_one: plays the job of this number; false: it
 * was the last. */
void kept_compare(const char *name, bool play_one(unsigned int number));

#endif
