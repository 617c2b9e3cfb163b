/* SPDX-License-Identifier: MIT */
/* Did the findings of a demo name what was injected, and nothing else? */
#ifndef CONSOLE_TRIALS_DEMO_VERDICT_H
#define CONSOLE_TRIALS_DEMO_VERDICT_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/workload/job/scenario.h"

struct demo_verdict {
	bool right;
	bool unexpected; /* found although it was expected to fail: the mark in the table can go */
	char text[512]; /* "straggler, io, in rank 0: right"; what a finding said is escaped */
};

/* lines: findings as JSON lines, every revision; those below `warning` do not count. Right: the last revision of each
 * names the scenario's rank alone (or what is named with it, in its scope), and one has its kind, cause, and origin and
 * first index of values. A healthy scenario is right without any, if a collector watched all ranks to the end; one that
 * is expected to fail (awaits), as long as nobody is named wrongly. */
void demo_judge(struct demo_verdict *verdict, const struct scenario *scenario, FILE *lines, bool saw_all);

#endif
