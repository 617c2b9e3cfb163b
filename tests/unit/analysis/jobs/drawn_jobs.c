/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/drawn_jobs.h"

#include <stdlib.h>

#include "suite/play.h"

enum { MOST_RANKS = 8 };

static void not_heard(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

void drawn_play(unsigned int number)
{
	const struct suite_draw draw = suite_draw(number, MOST_RANKS);
	struct suite_course course = { 0 };
	struct analysis_account account;

	suite_play(&draw, &course, not_heard, NULL, &account);
	free(course.noise);
	free(course.differences);
}
