/* SPDX-License-Identifier: MIT */
/*
 * Jobs that are drawn record by record: communicators of some of the ranks that come and go, calls of every kind that
 * are told in every order that a box can have, processes that begin late, end and begin again, values that go bad. All
 * times are multiples of one, so that they are equal to each other and to limits all the time.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_LOOSE_JOBS_H
#define TESTS_UNIT_ANALYSIS_JOBS_LOOSE_JOBS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/analysis.h"

/* Jobs from this number on are late, slow and silent by what the analysis has as limits, or a nanosecond more or less,
 * in every step or in some, for good or for a while. */
enum { LOOSE_AT_LIMITS = 10000 };
/* Of the jobs from this number on one rank's calls are seen from some step on only, and now and then one is lost. */
enum { LOOSE_WITH_LOSSES = 20000 };

/* The same job for the same number; `analysis_new` to `analysis_free`. Returns how many operations were told. */
unsigned long loose_play(unsigned int number);

/* What the caller is shown of a job that bytes make, while it is played. */
struct loose_hooks {
	analysis_emit *finding; /* its argument is `argument` */
	void (*begun)(void *argument, struct analysis *analysis);
	void (*ticked)(void *argument, struct analysis *analysis, uint64_t now_ns);
	void (*ended)(void *argument, struct analysis *analysis); /* open findings may be told once more after it */
	void *argument;
	FILE *words; /* what the job is; NULL: not needed */
};

/* The bytes stand for the numbers that are drawn else, so that a fuzzer can draw by what the analysis does with them.
 * Such a job is shorter than those above, and more can happen in it, in steps that the bytes say. */
void loose_play_bytes(const uint8_t *bytes, size_t size, const struct loose_hooks *hooks);

#endif
