/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/scan_budget.h"

#include <stdbool.h>

#define SECOND_NS UINT64_C(1000000000)
#define DENSE_NS  (SCAN_BUDGET_DENSE_S * SECOND_NS)

enum {
	CALM_S = 5,     /* below a quarter of the limit for so long: twice as much */
	CALM_SHARE = 4, /* twice as much must fit with room to spare */
	MILLION = 1000000,
};

static void open_window(struct scan_budget *budget, uint64_t now_ns, uint64_t cost_ns)
{
	budget->since_ns = now_ns;
	budget->since_cost_ns = cost_ns;
}

void scan_budget_open(struct scan_budget *budget, uint32_t ppm, uint32_t dense_ppm, uint64_t now_ns, uint64_t cost_ns)
{
	*budget = (struct scan_budget){
		.ppm = ppm,
		.dense_ppm = dense_ppm,
		.every = 1,
		.dense_until_ns = now_ns + DENSE_NS,
	};
	open_window(budget, now_ns, cost_ns);
}

static uint32_t limit_of(const struct scan_budget *budget, uint64_t now_ns)
{
	bool dense = now_ns < budget->dense_until_ns && budget->ppm < budget->dense_ppm;

	return dense ? budget->dense_ppm : budget->ppm;
}

static uint32_t share_ppm(uint64_t cost_ns, uint64_t wall_ns)
{
	double share = (double)cost_ns / (double)wall_ns * MILLION;

	return share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

static void back_off(struct scan_budget *budget, uint32_t limit)
{
	uint64_t allowed = limit ? limit : 1;

	do {
		budget->every *= 2;
		allowed *= 2;
	} while (budget->every < SCAN_BUDGET_EVERY_MAX && allowed < budget->cost_ppm);
}

uint32_t scan_budget_judge(struct scan_budget *budget, uint64_t now_ns, uint64_t cost_ns)
{
	uint64_t wall_ns = now_ns - budget->since_ns;
	uint32_t limit = limit_of(budget, now_ns);

	/* A second that is not over is judged as if nothing more came, and only when that is too much: work comes in
	 * bursts. */
	uint32_t cost_ppm = share_ppm(cost_ns - budget->since_cost_ns, wall_ns < SECOND_NS ? SECOND_NS : wall_ns);

	if (wall_ns < SECOND_NS && cost_ppm <= limit)
		return budget->every;
	budget->cost_ppm = cost_ppm;
	if (budget->cost_ppm > limit) {
		if (budget->every < SCAN_BUDGET_EVERY_MAX)
			back_off(budget, limit);
		open_window(budget, now_ns, cost_ns);
	} else if (wall_ns >= CALM_S * SECOND_NS) {
		if (budget->every > 1 && budget->cost_ppm < limit / CALM_SHARE)
			budget->every /= 2;
		open_window(budget, now_ns, cost_ns);
	}
	return budget->every;
}

void scan_budget_hit(struct scan_budget *budget, uint64_t now_ns)
{
	if (!budget->hit_ns || now_ns - budget->hit_ns > DENSE_NS) {
		budget->dense_until_ns = now_ns + DENSE_NS;
		budget->every = 1;
	}
	budget->hit_ns = now_ns;
}
