/* SPDX-License-Identifier: MIT */
/*
 * Which communicators hold no two stages of one pipeline. Ranks that send to each other, directly or through others,
 * are in one pipeline: its stages work differently, and are not compared with each other.
 */
#ifndef ANALYSIS_JOB_PIPELINES_H
#define ANALYSIS_JOB_PIPELINES_H

#include "analysis/job/world.h"

/* Sets `across` and `hosts` of each communicator, by what was reported so far. On lack of memory they stay as they are.
 */
void pipelines_find(struct world *world);

#endif
