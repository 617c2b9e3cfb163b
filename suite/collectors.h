/* SPDX-License-Identifier: MIT */
/*
 * The collectors of a drawn job, as they look at it: one of all its ranks, or one on each host and the judge of the
 * job, which has only their messages. Of the batches of messages one in 20 never comes, and one in 20 comes 2 s late.
 */
#ifndef SUITE_COLLECTORS_H
#define SUITE_COLLECTORS_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "suite/draw.h"

struct suite_collectors;

/* What any of them, or the judge, finds goes to `emit`. The caller frees them with suite_collectors_free(). */
struct suite_collectors *suite_collectors_new(const struct suite_draw *draw, analysis_emit *emit, void *argument);
/* The analysis that sees this rank. */
struct analysis *suite_collectors_analysis(const struct suite_collectors *collectors, int rank);
/* Time has passed: each judges what it was shown. */
void suite_collectors_tick(struct suite_collectors *collectors, uint64_t now_ns);
void suite_collectors_free(struct suite_collectors *collectors);

#endif
