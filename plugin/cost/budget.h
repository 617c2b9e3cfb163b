/* SPDX-License-Identifier: MIT */
/*
 * The one budget for everything that we add to the job: time on its threads, and on the GPU that of scans and of
 * progress writes, against wall time. It answers with two numbers, powers of two: one operation in `scan_every` is
 * scanned, and one in `progress_every` has GPU progress. Whichever costs more is turned down. For the first five
 * minutes, and for five minutes after a first hit, more is allowed unless the user has set what may be spent: what a
 * job that is just starting, or one that is just breaking, does shall be seen. No thread of its own, no clock: one
 * caller.
 */
#ifndef PLUGIN_COST_BUDGET_H
#define PLUGIN_COST_BUDGET_H

#include <stdint.h>

enum {
	BUDGET_DENSE_PPM = 50000, /* 5 %, where the user has not set what may be spent */
	BUDGET_DENSE_S = 300,
	BUDGET_EVERY_MAX = 1 << 20,
};

/* So far, ns. */
struct budget_cost {
	uint64_t total;
	uint64_t scans, progress; /* of it, what turning them down would save */
};

struct budget {
	uint32_t ppm, dense_ppm; /* of wall time */
	uint32_t scan_every, progress_every;
	uint32_t cost_ppm; /* of the last second */
	uint32_t next_ppm; /* of the second in progress: what turns down again */
	uint32_t calm_s;
	uint64_t since_ns; /* the second in progress */
	struct budget_cost since;
	uint64_t dense_until_ns;
	uint64_t hit_ns; /* last one, 0 none */
};

/* dense_ppm: the limit while it is dense, if that is more than ppm. */
void budget_open(struct budget *budget, uint32_t ppm, uint32_t dense_ppm, uint64_t now_ns,
		 const struct budget_cost *cost);
/* At least once a second; every few milliseconds is better. A second that spends faster than it may turns down when
 * half of its allowance is gone, again at three quarters, and so on: the allowance holds from the first second on. A
 * second found far above the limit turns down as often as it shows to be needed. After five seconds below a quarter of
 * the limit, twice as much. */
void budget_judge(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost);
/* A scan found a NaN or an Inf. The first in five minutes makes it dense; those that never stop (padding, masks) do
 * not. */
void budget_hit(struct budget *budget, uint64_t now_ns);

#endif
