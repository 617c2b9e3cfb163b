/* SPDX-License-Identifier: MIT */
/*
 * The linker leads analysis_new(), _tick() and _free() of all jobs here (--wrap): what the analysis says meanwhile goes
 * to kept_answers.h, and what its views and its account show.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_LISTENING_H
#define TESTS_UNIT_ANALYSIS_JOBS_LISTENING_H

#include <stdbool.h>

#include "tests/unit/analysis/jobs/surroundings.h"

/* What else is seen at each tick; NULL (at first): nothing. */
extern const struct surroundings *listening_around;
/* The next analyses are those of `rankwatch report`, whatever the job asks for: boxes that are read after their job. */
extern bool listening_post_mortem;

#endif
