/* SPDX-License-Identifier: MIT */
/* What we cost the job on its own threads: one callback in so many is timed, and stands for the others. */
#ifndef PLUGIN_COST_COST_H
#define PLUGIN_COST_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "plugin/guest/clock.h"

enum {
	COST_SAMPLE = 61, /* a prime: callbacks come in cycles of a dozen or so, and each of a cycle must have its turn */
	COST_OWN_NS = 50000, /* of a callback at most; what is beyond was spent by whoever ran in its place */
};

/* What a callback that took so long stands for. One that lost its processor, or waited for room in a stream's queue, has
 * done so once and not for the others: else a single one would use up the budget of a second, and sampling would begin. */
static inline uint64_t cost_of(uint64_t took_ns)
{
	uint64_t own_ns = took_ns < COST_OWN_NS ? took_ns : COST_OWN_NS;

	return own_ns * COST_SAMPLE + (took_ns - own_ns);
}

/* Is this one timed? `calls` is the thread's own counter, down to the next that is. */
static inline bool cost_is_due(int32_t *calls)
{
	if (__builtin_expect(--*calls >= 0, 1))
		return false;
	*calls = COST_SAMPLE - 1;
	return true;
}

/* It began then, and ends now. */
static inline void cost_add(struct rw_box_header *header, uint64_t begin)
{
	atomic_fetch_add_explicit(&header->own_ns, cost_of(clock_ns() - begin), memory_order_relaxed);
	atomic_fetch_add_explicit(&header->callbacks, COST_SAMPLE, memory_order_relaxed);
}

/* 0: not this time. */
static inline uint64_t cost_begin(int32_t *calls)
{
	return cost_is_due(calls) ? clock_ns() : 0;
}

static inline void cost_end(struct rw_box_header *header, uint64_t begin)
{
	if (__builtin_expect(begin, 0))
		cost_add(header, begin);
}

#endif
