/* SPDX-License-Identifier: MIT */
#include "plugin/cost/budget.h"

#include <stdbool.h>
#include <stddef.h>

#define SECOND_NS UINT64_C(1000000000)
#define DENSE_NS  (BUDGET_DENSE_S * SECOND_NS)

enum {
	CALM_S = 5,      /* below a quarter of the limit for so long: twice as much */
	CALM_SHARE = 4,  /* twice as much must fit with room to spare */
	WORTH_SHARE = 8, /* what takes less of the limit than this is not what it is exceeded by */
	STEP_SHARE = 16, /* of the limit at least, from one turning down to the next within a second */
	MILLION = 1000000,
};

static uint32_t limit_of(const struct budget *budget, uint64_t now_ns)
{
	bool dense = now_ns < budget->dense_until_ns && budget->ppm < budget->dense_ppm;

	return dense ? budget->dense_ppm : budget->ppm;
}

static void open_second(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost)
{
	budget->since_ns = now_ns;
	budget->since = *cost;
	budget->next_ppm = limit_of(budget, now_ns) / 2;
}

void budget_open(struct budget *budget, uint32_t ppm, uint32_t dense_ppm, uint64_t now_ns,
		 const struct budget_cost *cost)
{
	*budget = (struct budget){
		.ppm = ppm,
		.dense_ppm = dense_ppm,
		.scan_every = 1,
		.progress_every = 1,
		.dense_until_ns = now_ns + DENSE_NS,
	};
	open_second(budget, now_ns, cost);
}

static uint32_t share_ppm(uint64_t cost_ns, uint64_t wall_ns)
{
	double share = (double)cost_ns / (double)(wall_ns ? wall_ns : 1) * MILLION;

	return share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

/* What costs more and can still be turned down; NULL: neither of them is what it is exceeded by. */
static uint32_t *dearer(struct budget *budget, const struct budget_cost *cost, uint64_t wall_ns, uint32_t limit)
{
	uint64_t scans = cost->scans - budget->since.scans, progress = cost->progress - budget->since.progress;
	bool scans_can = budget->scan_every < BUDGET_EVERY_MAX,
	     progress_can = budget->progress_every < BUDGET_EVERY_MAX;
	bool is_progress = progress_can && (progress > scans || !scans_can);

	if (!is_progress && !scans_can)
		return NULL;
	if (share_ppm(is_progress ? progress : scans, wall_ns) < limit / WORTH_SHARE)
		return NULL;
	return is_progress ? &budget->progress_every : &budget->scan_every;
}

static void turn_down(struct budget *budget, const struct budget_cost *cost, uint64_t wall_ns, bool over,
		      uint32_t limit)
{
	/* Of a second that has spent all and is not over, nothing is left for the rest of it. */
	bool spent = !over && budget->cost_ppm >= limit;
	uint64_t allowed = limit ? limit : 1;
	uint32_t *every = dearer(budget, cost, wall_ns, limit);

	if (!every)
		return;
	do {
		*every *= spent && *every < BUDGET_EVERY_MAX / 2 ? 4 : 2;
		allowed *= 2;
	} while (*every < BUDGET_EVERY_MAX && allowed < budget->cost_ppm);
}

/* Half of what is left of the second's allowance may be spent before it is turned down again. */
static uint32_t next_of(uint32_t share, uint32_t limit)
{
	uint32_t step = share < limit ? (limit - share) / 2 : 0;

	if (step < limit / STEP_SHARE)
		step = limit / STEP_SHARE;
	return share < UINT32_MAX - step - 1 ? share + step + 1 : UINT32_MAX;
}

static void end_second(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost, uint32_t limit)
{
	budget->calm_s = budget->cost_ppm < limit / CALM_SHARE ? budget->calm_s + 1 : 0;
	if (budget->calm_s >= CALM_S) {
		/* Progress first: it costs less, and shows more. */
		if (budget->progress_every > 1)
			budget->progress_every /= 2;
		else if (budget->scan_every > 1)
			budget->scan_every /= 2;
		budget->calm_s = 0;
	}
	open_second(budget, now_ns, cost);
}

void budget_judge(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost)
{
	uint64_t wall_ns = now_ns - budget->since_ns, spent_ns = cost->total - budget->since.total;
	uint32_t limit = limit_of(budget, now_ns);
	bool over = wall_ns >= SECOND_NS;

	/* A second that is not over is judged as if nothing more came: work comes in bursts. */
	uint32_t share = share_ppm(spent_ns, over ? wall_ns : SECOND_NS);
	bool too_fast = over ? share > limit : share_ppm(spent_ns, wall_ns) > limit;

	if (too_fast && share > budget->next_ppm) {
		budget->cost_ppm = share;
		budget->calm_s = 0;
		turn_down(budget, cost, over ? wall_ns : SECOND_NS, over, limit);
		budget->next_ppm = next_of(share, limit);
	}
	if (!over)
		return;
	budget->cost_ppm = share;
	end_second(budget, now_ns, cost, limit);
}

void budget_hit(struct budget *budget, uint64_t now_ns)
{
	if (!budget->hit_ns || now_ns - budget->hit_ns > DENSE_NS) {
		budget->dense_until_ns = now_ns + DENSE_NS;
		budget->scan_every = 1;
	}
	budget->hit_ns = now_ns;
}
