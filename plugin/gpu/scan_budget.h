/* SPDX-License-Identifier: MIT */
/*
 * The one budget for everything that we add to the job: host time on its threads and GPU time of the scans, against
 * wall time. It answers with `every`: one operation in so many is scanned. For the first five minutes, and for five
 * minutes after a first hit, more is allowed, so that all or nearly all is scanned: what a job that is just starting,
 * or one that is just breaking, does. Not a thread of its own, no clock: one caller.
 */
#ifndef PLUGIN_GPU_SCAN_BUDGET_H
#define PLUGIN_GPU_SCAN_BUDGET_H

#include <stdint.h>

enum {
	SCAN_BUDGET_DENSE_PPM = 50000, /* 5 %, where the user has not said what may be spent */
	SCAN_BUDGET_DENSE_S = 300,
	SCAN_BUDGET_EVERY_MAX = 1 << 20,
};

struct scan_budget {
	uint32_t ppm, dense_ppm; /* of wall time */
	uint32_t every;
	uint32_t cost_ppm;                /* in the window so far */
	uint64_t since_ns, since_cost_ns; /* window */
	uint64_t dense_until_ns;
	uint64_t hit_ns; /* last one, 0 none */
};

/* cost_ns: what was added so far. dense_ppm: the limit while it is dense, if that is more than ppm. */
void scan_budget_open(struct scan_budget *budget, uint32_t ppm, uint32_t dense_ppm, uint64_t now_ns, uint64_t cost_ns);
/* At least once a second, more is better: what is spent before its second is over is noticed then. Returns `every`.
 * Over the limit it doubles, as often as one call shows to be needed; it halves when the cost was below a quarter of
 * the limit for five seconds. */
uint32_t scan_budget_judge(struct scan_budget *budget, uint64_t now_ns, uint64_t cost_ns);
/* A scan found a NaN or an Inf. The first in five minutes makes it dense; those that never stop (padding, masks) do
 * not. */
void scan_budget_hit(struct scan_budget *budget, uint64_t now_ns);

#endif
