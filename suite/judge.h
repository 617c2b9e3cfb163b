/* SPDX-License-Identifier: MIT */
/* Holds what was said of a drawn job against what is wrong with it. */
#ifndef SUITE_JUDGE_H
#define SUITE_JUDGE_H

#include <stdio.h>

#include "suite/draw.h"

enum suite_verdict {
	VERDICT_RIGHT,	      /* rank, kind and cause; silent where nobody is at fault */
	VERDICT_CAUSE,	      /* the right rank, and another kind or cause, or none where it was to be seen */
	VERDICT_PARTLY,	      /* some of the ranks at fault, and no other */
	VERDICT_INCONCLUSIVE, /* nothing more than that */
	VERDICT_MISSED,
	VERDICT_WRONG, /* a rank that is not at fault, in a job where something is wrong */
	VERDICT_FALSE, /* … where nothing is */
	VERDICTS,
};

struct suite_result {
	enum suite_verdict verdict;
	int found_step; /* in which the last of those that were named was named first; 0 nobody */
	/* Steps after which a test that knows the fault and the noise would know it, too (oracle.h); 0: not in this
	 * job. 1 where noise cannot hide the fault. */
	int oracle_steps;
	/* How far the ranks at fault stand out of what healthy ranks of this job were late by over as many steps;
	 * infinite where the fault is not one of lateness. */
	double stands_out;
	double share, true_share; /* reported last of one rank, and what its late steps are; -1 */
	bool accounted;		  /* where the time went names it, at the end */
	int kind, cause;	  /* reported last of a rank at fault; -1 */
	char text[256];		  /* that decided: the first wrong one, or the last */
	unsigned long steps_seen;
};

const char *suite_verdict_name(enum suite_verdict verdict);
/* reported: every finding goes there, too; NULL: nowhere. */
void suite_judge(const struct suite_draw *draw, struct suite_result *result, FILE *reported);

#endif
