/* SPDX-License-Identifier: MIT */
#include "analysis/measure/losses.h"

#include <stdbool.h>

static const uint64_t notice_ns = 100000000;
/* Stretches that follow each other become one, or a flood would leave no room for what was before it. */
static const uint64_t longest_ns = 1000000000;

void losses_add(struct losses *losses, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	if (!count || to_ns < from_ns)
		return;
	if (losses->stretch_count) {
		uint64_t last = (losses->stretch_count - 1) % LOSSES_KEPT;

		if (from_ns <= losses->stretches[last].to_ns && to_ns - losses->stretches[last].from_ns <= longest_ns) {
			losses->stretches[last].to_ns = to_ns;
			losses->stretches[last].count += count;
			return;
		}
	}
	uint64_t next = losses->stretch_count++ % LOSSES_KEPT;

	losses->stretches[next].from_ns = from_ns;
	losses->stretches[next].to_ns = to_ns;
	losses->stretches[next].count = count;
}

static bool touches(const struct losses *losses, uint64_t i, const struct cause_window *windows, uint32_t count)
{
	for (uint32_t w = 0; w < count; w++)
		if (losses->stretches[i].from_ns <= windows[w].to_ns + notice_ns &&
		    losses->stretches[i].to_ns >= windows[w].from_ns)
			return true;
	return false;
}

uint64_t losses_in(const struct losses *losses, const struct cause_window *windows, uint32_t count)
{
	uint64_t kept = losses->stretch_count < LOSSES_KEPT ? losses->stretch_count : LOSSES_KEPT, sum = 0;

	for (uint64_t i = 0; i < kept; i++)
		if (touches(losses, i, windows, count))
			sum += losses->stretches[i].count;
	return sum;
}
