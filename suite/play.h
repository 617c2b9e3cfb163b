/* SPDX-License-Identifier: MIT */
/*
 * Plays a drawn job into an analysis, or into those of its hosts, as collectors see it: every 100 ms what has changed
 * since the last poll, operations in flight as well. Hosts run ahead of their GPUs and wait for them at the end of a
 * step.
 */
#ifndef SUITE_PLAY_H
#define SUITE_PLAY_H

#include "analysis/analysis.h"
#include "suite/draw.h"

struct suite_course {
	int step; /* that is being played, from 1 */
	/* How much longer than the draw's step each rank worked, ms, by step and rank; without the fault. The caller
	 * frees it. */
	float *noise;
	/* by rank: how much more than others it works for good, as a share of the step; the caller frees it */
	float *differences;
	uint64_t steps_seen; /* by the analysis */
	double now_ms, struck_ms;
};

/* Findings go to `emit`, during which the course is up to date. account: of all ranks, where one collector sees them;
 * else it is not known. NULL: it is not wanted. */
void suite_play(const struct suite_draw *draw, struct suite_course *course, analysis_emit *emit, void *argument,
		struct analysis_account *account);

#endif
