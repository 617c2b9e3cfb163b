/* SPDX-License-Identifier: MIT */
/* What we cost the job on its own threads: one callback in so many is timed, and stands for the others. */
#ifndef PLUGIN_COST_COST_H
#define PLUGIN_COST_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/guest/clock.h"

enum {
	/* Primes: callbacks come in cycles of a dozen or so, and each of a cycle must have its turn. */
	COST_SAMPLE = 61,
	/* then a callback waits for nobody, and the budget has nothing to turn down */
	COST_SAMPLE_WITHOUT_DRIVER = 251,
	COST_CHARGE_NS = 61 * 50000, /* by one that is timed, beyond what it took itself */
};

/* What of it may have been its own. */
static inline uint64_t cost_own_ns(uint64_t took_ns, uint32_t sample)
{
	uint64_t most_ns = COST_CHARGE_NS / sample;

	return took_ns < most_ns ? took_ns : most_ns;
}

/* What a callback that took so long and was timed as one of `sample` stands for. One that lost its processor, or waited
 * for room in a stream's queue, has done so once and not for the others. */
static inline uint64_t cost_of(uint64_t took_ns, uint32_t sample)
{
	uint64_t own_ns = cost_own_ns(took_ns, sample);

	return own_ns * sample + (took_ns - own_ns);
}

/* Is this one timed? `calls` is the thread's own counter, down to the next that is; sample: of the process. */
static inline bool cost_is_due(int32_t *calls, const uint32_t *sample)
{
	if (__builtin_expect(--*calls >= 0, 1))
		return false;
	*calls = (int32_t)*sample - 1;
	return true;
}

/* What callbacks took so far, ns, and how many there were. The budget is spent by what they usually take, which is the
 * less of two that are timed one after the other: a single one that lost its processor for as long as a scheduler's
 * turn would use up the budget of seconds, and what was turned down for that would save nothing. */
struct cost_sums {
	_Atomic uint64_t own_ns, usual_ns, callbacks;
	_Atomic uint64_t last_ns; /* that was timed */
};

/* It began then, and ends now. */
static inline void cost_add(struct cost_sums *sums, uint64_t begin, uint32_t sample)
{
	uint64_t took_ns = clock_ns() - begin, last_ns = atomic_load_explicit(&sums->last_ns, memory_order_relaxed);

	atomic_store_explicit(&sums->last_ns, took_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&sums->own_ns, cost_of(took_ns, sample), memory_order_relaxed);
	atomic_fetch_add_explicit(&sums->usual_ns, cost_own_ns(took_ns < last_ns ? took_ns : last_ns, sample) * sample,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&sums->callbacks, sample, memory_order_relaxed);
}

/* 0: not this time. */
static inline uint64_t cost_begin(int32_t *calls, const uint32_t *sample)
{
	return cost_is_due(calls, sample) ? clock_ns() : 0;
}

static inline void cost_end(struct cost_sums *sums, uint64_t begin, uint32_t sample)
{
	if (__builtin_expect(begin, 0))
		cost_add(sums, begin, sample);
}

#endif
