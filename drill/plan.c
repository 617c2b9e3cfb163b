/* SPDX-License-Identifier: MIT */
#include "drill/delay.h"

#include <inttypes.h>
#include <stdio.h>

bool drill_plan_read(struct drill_plan *plan, const char *text)
{
	int end = 0;

	if (!text ||
	    sscanf(text, "%" SCNd32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %255[^\n]%n", &plan->rank,
		   &plan->delay_ns, &plan->every_ns, &plan->after_ns, &plan->for_ns, plan->log, &end) != 6)
		return false;
	return !text[end] && plan->rank >= 0 && plan->delay_ns && plan->delay_ns <= DRILL_DELAY_MAX_NS &&
	       plan->every_ns >= 2 * plan->delay_ns && plan->for_ns && plan->for_ns <= DRILL_FOR_MAX_NS &&
	       plan->after_ns <= DRILL_FOR_MAX_NS && plan->log[0] == '/';
}
