/* SPDX-License-Identifier: MIT */
#include "analysis/host/stalls.h"

uint64_t stalls_left(const struct stalls *stalls, uint64_t arrival_ns, uint64_t late_ns)
{
	uint64_t from_ns = arrival_ns > late_ns ? arrival_ns - late_ns : 0, until_ns = arrival_ns;

	if (stalls->forgotten_ns > from_ns)
		from_ns = stalls->forgotten_ns;
	for (uint32_t i = 0; i < STALLS_KEPT; i++) {
		const struct stall *stall = &stalls->latest[i];

		/* Of one that ended later, and was judged before, only its own time is charged already. */
		if (stall->until_ns > arrival_ns)
			until_ns = stall->from_ns < until_ns ? stall->from_ns : until_ns;
		else if (stall->until_ns > from_ns)
			from_ns = stall->until_ns;
	}
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

void stalls_add(struct stalls *stalls, uint64_t arrival_ns, uint64_t late_ns)
{
	struct stall *stall = &stalls->latest[stalls->count++ % STALLS_KEPT];

	if (stall->until_ns > stalls->forgotten_ns)
		stalls->forgotten_ns = stall->until_ns;
	*stall = (struct stall){ .from_ns = arrival_ns > late_ns ? arrival_ns - late_ns : 0, .until_ns = arrival_ns };
}
