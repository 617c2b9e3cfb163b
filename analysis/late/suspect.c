/* SPDX-License-Identifier: MIT */
#include "analysis/late/suspect.h"

uint64_t suspect_limit_ns(uint64_t step_ns)
{
	uint64_t share = (uint64_t)(STRAGGLER_SHARE_MIN * (double)step_ns);
	return share > STRAGGLER_COST_MIN_NS ? share : STRAGGLER_COST_MIN_NS;
}

struct blame suspect_blame(const struct suspect *suspect, uint64_t step)
{
	const struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];
	return blame->step == step ? *blame : (struct blame){ .step = step };
}

struct cause_window suspect_window(const struct operation *operation)
{
	bool host = operation_is_host_late(operation) && operation->launch_ns < operation->arrival_ns;
	uint64_t late_ns = (uint64_t)operation->late_us * 1000,
		 until_ns = host && operation->launch_ns > late_ns ? operation->launch_ns : operation->arrival_ns;

	return (struct cause_window){ until_ns - late_ns, until_ns };
}

struct cause_window suspect_host_window(const struct operation *operation)
{
	uint32_t since_us = operation->idle_us > operation->late_us ? operation->idle_us : operation->late_us;

	return (struct cause_window){ operation->arrival_ns - (uint64_t)since_us * 1000, operation->arrival_ns };
}

void suspect_decide(struct suspect *suspect, uint64_t at_ns)
{
	suspect->decided_ns = at_ns;
	suspect->striking_ns = 0;
	suspect->candidate_ns = 0;
	suspect->clean = 0;
}

double suspect_interval(const struct intermittent *intermittent)
{
	if (intermittent->times < 2 || intermittent->last <= intermittent->since)
		return 1;
	return (double)(intermittent->last - intermittent->since) / (intermittent->times - 1);
}
