/* SPDX-License-Identifier: MIT */
/*
 * Finds circles of ranks that wait for each other in the inits of different communicators: each has come to one of them, where the next one is
 * missing. docs/analysis.md, "Init".
 */
#ifndef ANALYSIS_INIT_CIRCLE_H
#define ANALYSIS_INIT_CIRCLE_H

#include "analysis/analysis.h"
#include "analysis/gatherings.h"

/* Opens, updates and closes the finding. */
void init_circle_tick(struct analysis *analysis, const struct gatherings *gatherings, uint64_t now_ns);

#endif
