/* SPDX-License-Identifier: MIT */
/*
 * The linker leads analysis_new(), _tick() and _free() of all jobs here (--wrap): what the analysis says meanwhile goes to
 * kept_answers.h, and what its views and its account show.
 */
#ifndef TESTS_UNIT_ANALYSIS_LISTENING_H
#define TESTS_UNIT_ANALYSIS_LISTENING_H

#include "surroundings.h"

/* What else is seen at each tick; NULL (at first): nothing. */
extern const struct surroundings *listening_around;

#endif
