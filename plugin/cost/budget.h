/* SPDX-License-Identifier: MIT */
/*
 * The one budget for everything that we add to the job: time on its threads, and on the GPU that of scans and of
 * progress writes, against wall time. It answers with two numbers, powers of two: one operation in `scan_every` is
 * scanned, and one in `progress_every` has GPU progress. Whichever costs more is turned down.
 *
 * The scans of a job's first operations (RW_SCAN_FIRST) have a sum of their own, once: what a job that is just starting
 * does shall be seen. What they cost counts towards nothing else until that sum is spent.
 *
 * No thread of its own, no clock: one caller.
 */
#ifndef PLUGIN_COST_BUDGET_H
#define PLUGIN_COST_BUDGET_H

#include <stdint.h>

enum { BUDGET_EVERY_MAX = 1 << 20 };

/* So far, ns. */
struct budget_cost {
	uint64_t total;
	uint64_t scans, progress; /* of it, what turning them down would save */
	uint64_t first;           /* of scans, those of first operations */
};

struct budget {
	uint32_t ppm; /* of wall time */
	uint32_t scan_every, progress_every;
	uint32_t cost_ppm; /* of the last second, first operations and all */
	uint32_t next_ppm; /* of the second in progress: what turns down again */
	uint32_t calm_s;
	uint64_t first_left_ns, first_paid_ns; /* of the sum for first operations */
	uint64_t first_seen_ns;                /* what they had cost at the last look */
	uint64_t since_ns;                     /* the second in progress */
	struct budget_cost since;              /* without what was paid for first operations */
	uint64_t total_since;                  /* with it */
};

/* first_ns: the sum for first operations. */
void budget_open(struct budget *budget, uint32_t ppm, uint64_t first_ns, uint64_t now_ns, const struct budget_cost *cost);
/* At least once a second; every few milliseconds is better. A second that spends faster than it may turns down when
 * half of its allowance is gone, again at three quarters, and so on: the allowance holds from the first second on. A
 * second found far above the limit turns down as often as it shows to be needed. After five seconds below a quarter of
 * the limit, twice as much. */
void budget_judge(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost);
/* Is there anything left for first operations? */
static inline int budget_has_first(const struct budget *budget)
{
	return budget->first_left_ns > 0;
}

#endif
