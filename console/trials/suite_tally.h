/* SPDX-License-Identifier: MIT */
/* What the analysis reported about the jobs of the fault suite that were played, as tables and as JSON:
 * docs/testing.md. One thread. */
#ifndef CONSOLE_TRIALS_SUITE_TALLY_H
#define CONSOLE_TRIALS_SUITE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#include "suite/judge.h"

struct suite_job {
	struct suite_draw draw;
	struct suite_result result;
};

/* Zeroed at first. */
struct suite_tally {
	struct suite_job *jobs;
	size_t count, room;
};

/* 0 or -ENOMEM. */
int suite_tally_add(struct suite_tally *tally, const struct suite_draw *draw, const struct suite_result *result);
/* How many jobs had this verdict. */
unsigned suite_tally_count(const struct suite_tally *tally, enum suite_verdict verdict);
/* What one job is, and what was reported about it. Lines are broken at `width`. */
void suite_tally_print_job(const struct suite_job *job, FILE *out, int width);
/* The tables, shares with their 95 % intervals, and each job that was not right with the command that plays it again,
 * which `again` begins. */
void suite_tally_print(const struct suite_tally *tally, const char *again, FILE *out, int width);
/* New objects; NULL: no memory. */
json_t *suite_tally_job_json(const struct suite_job *job, const char *again);
json_t *suite_tally_json(const struct suite_tally *tally, bool interrupted);
void suite_tally_free(struct suite_tally *tally);

#endif
