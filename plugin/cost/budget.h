/* SPDX-License-Identifier: MIT */
/*
 * The one budget for everything that we add to the job: time on its threads, and on the GPU that of scans and of
 * progress writes, against wall time. It answers with three numbers, powers of two: one operation in `scan_every` is
 * scanned, one in `progress_every` has GPU progress, and one in `small_every` of small ones in a row. Scans are
 * turned down first, then progress.
 *
 * Small operations in a row begin with few (plugin/cost/sampling.h): a loop of them, each of ten microseconds, must not
 * be slowed before it is known how many come. An eighth of a second after the first operation, and then once a second,
 * that is known, and as many have progress as fit into the budget by what each may cost. How many come is nearly the
 * same on all ranks of a communicator, and the sets nest.
 *
 * The scans of a job's first operations (RW_SCAN_FIRST) have a sum of their own, once: what a job that is just starting
 * does shall be seen. What they cost counts towards nothing else until that sum is spent.
 *
 * No thread of its own, no clock: one caller.
 */
#ifndef PLUGIN_COST_BUDGET_H
#define PLUGIN_COST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_EVERY_MAX = 1 << 20,
	/* What GPU progress of one operation may cost, ns: 1 to 2 us of its host and 3 to 5 us of its stream, measured
	 * on an H100 (docs/benchmarks.md). */
	BUDGET_FOLLOWED_NS = 5000,
};

/* So far, ns. */
struct budget_cost {
	uint64_t total;
	uint64_t scans, progress; /* of it, what turning them down would save */
	uint64_t first;           /* of scans, those of first operations */
	uint64_t left_out;        /* a number: operations that were left without progress */
};

struct budget {
	uint32_t ppm; /* of wall time */
	uint32_t scan_every, progress_every, small_every;
	uint32_t cost_ppm; /* of the last second, first operations and all */
	uint32_t next_ppm; /* of the second in progress: what turns down again */
	uint32_t calm_s;
	uint64_t first_ns; /* at this poll the first operations had come; 0: none have */
	bool early_judged; /* what came within a part of a second from then on has been judged */
	uint64_t first_left_ns, first_paid_ns; /* of the sum for first operations */
	uint64_t first_seen_ns;                /* what they had cost at the last poll */
	uint64_t since_ns;                     /* the second in progress */
	struct budget_cost since;              /* without what was paid for first operations */
	uint64_t total_since;                  /* with it */
};

/* first_ns: the sum for first operations. */
void budget_open(struct budget *budget, uint32_t ppm, uint64_t first_ns, uint64_t now_ns,
		 const struct budget_cost *cost);
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
