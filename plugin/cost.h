/* SPDX-License-Identifier: MIT */
/* What we cost the job on its own threads: one callback in so many is timed, and stands for the others. */
#ifndef PLUGIN_COST_H
#define PLUGIN_COST_H

#include "plugin/recording.h"

/* A prime: callbacks come in cycles of a dozen or so, and each of a cycle must have its turn. */
enum { COST_SAMPLE = 61 };

/* 0: not this time. `calls` is the thread's own counter, down to the next that is timed. */
static inline uint64_t cost_begin(uint16_t *calls)
{
	if (__builtin_expect(*calls != 0, 1)) {
		--*calls;
		return 0;
	}
	*calls = COST_SAMPLE - 1;
	return recording_clock();
}

static inline void cost_end(struct recording *recording, uint64_t begin)
{
	if (__builtin_expect(!begin, 1))
		return;
	atomic_fetch_add_explicit(&recording->box.header->own_ns, (recording_clock() - begin) * COST_SAMPLE,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->callbacks, COST_SAMPLE, memory_order_relaxed);
}

#endif
