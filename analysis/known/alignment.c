/* SPDX-License-Identifier: MIT */
#include "analysis/known/alignment.h"

/* The calls of one side. */
struct side {
	const struct call *calls;
	uint32_t count;
};

static struct side from(struct side side, uint32_t first)
{
	first = first < side.count ? first : side.count;
	return (struct side){ side.calls + first, side.count - first };
}

/* As far as both are known they make the same calls, and that is far enough. */
static bool goes_on_alike(struct side left, struct side right)
{
	uint32_t count = left.count < right.count ? left.count : right.count;

	for (uint32_t i = 0; i < count; i++)
		if (!call_is_same(&left.calls[i], &right.calls[i]))
			return false;
	return count >= ALIGNMENT_MATCHES;
}

static bool is_swapped(struct side usual, struct side odd)
{
	return usual.count > 1 && odd.count > 1 && call_is_same(&usual.calls[0], &odd.calls[1]) &&
	       call_is_same(&usual.calls[1], &odd.calls[0]) && goes_on_alike(from(usual, 2), from(odd, 2));
}

/* False: there was one before it. */
static bool take(struct alignment *found, enum alignment_kind kind, uint32_t calls)
{
	bool only = found->kind == ALIGNMENT_NONE;

	*found = (struct alignment){ kind, calls };
	return only;
}

struct alignment alignment_find(const struct call *usual_calls, uint32_t usual_count, const struct call *odd_calls,
				uint32_t odd_count)
{
	struct side usual = { usual_calls, usual_count }, odd = { odd_calls, odd_count };
	struct alignment found = { ALIGNMENT_NONE, 0 };
	bool only = true;

	if (is_swapped(usual, odd))
		only &= take(&found, ALIGNMENT_SWAPPED, 2);
	if (goes_on_alike(from(usual, 1), from(odd, 1)))
		only &= take(&found, ALIGNMENT_CHANGED, 1);
	for (uint32_t calls = 1; calls <= ALIGNMENT_DIFFERS; calls++) {
		if (goes_on_alike(from(usual, calls), odd))
			only &= take(&found, ALIGNMENT_OMITTED, calls);
		if (goes_on_alike(usual, from(odd, calls)))
			only &= take(&found, ALIGNMENT_EXTRA, calls);
	}
	return only ? found : (struct alignment){ ALIGNMENT_NONE, 0 };
}
