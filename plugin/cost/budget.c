/* SPDX-License-Identifier: MIT */
#include "plugin/cost/budget.h"

#include <stdbool.h>
#include <stddef.h>

#include "plugin/cost/sampling.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	CALM_S = 5,      /* below a quarter of the limit for so long: twice as much */
	CALM_SHARE = 4,  /* twice as much must fit with room to spare */
	WORTH_SHARE = 8, /* what takes less of the limit than this is not what it is exceeded by */
	KEPT_SHARE = 8,  /* this part of the limit is not spent on progress of small operations */
	STEP_SHARE = 16, /* of the limit at least, from one turning down to the next within a second */
	EARLY_SHARE = 8, /* of the first second shows how many small operations come */
	MILLION = 1000000,
};

/* The second in progress, or the one that has just ended. */
struct second {
	struct budget_cost spent; /* without what was paid for first operations */
	uint64_t wall_ns;         /* one that is not over is judged as if nothing more came: work comes in bursts */
	uint32_t share;           /* of the wall time */
	bool over;
};

static void open_second(struct budget *budget, uint64_t now_ns, const struct budget_cost *own, uint64_t total)
{
	budget->since_ns = now_ns;
	budget->since = *own;
	budget->total_since = total;
	budget->next_ppm = budget->ppm / 2;
}

void budget_open(struct budget *budget, uint32_t ppm, uint64_t first_ns, uint64_t now_ns,
		 const struct budget_cost *cost)
{
	*budget = (struct budget){
		.ppm = ppm,
		.scan_every = 1,
		.progress_every = 1,
		.small_every = SAMPLING_SMALL_EVERY,
		.first_left_ns = first_ns,
		.first_seen_ns = cost->first,
	};
	open_second(budget, now_ns, cost, cost->total);
}

static uint32_t share_ppm(uint64_t cost_ns, uint64_t wall_ns)
{
	double share = (double)cost_ns / (double)(wall_ns ? wall_ns : 1) * MILLION;

	return share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

/* Pays for first operations while there is something left for them. Returns the cost without what was paid so far. */
static struct budget_cost pay_first(struct budget *budget, const struct budget_cost *cost)
{
	uint64_t more = cost->first - budget->first_seen_ns;

	if (more > budget->first_left_ns)
		more = budget->first_left_ns;
	budget->first_seen_ns = cost->first;
	budget->first_left_ns -= more;
	budget->first_paid_ns += more;
	return (struct budget_cost){
		.total = cost->total - budget->first_paid_ns,
		.scans = cost->scans - budget->first_paid_ns,
		.progress = cost->progress,
		.left_out = cost->left_out,
	};
}

static bool is_worth(const struct budget *budget, const struct second *second, uint64_t cost_ns)
{
	return share_ppm(cost_ns, second->wall_ns) >= budget->ppm / WORTH_SHARE;
}

/* What is turned down. Scans first: with fewer of them each operation is still timed, but what one rank does not follow
 * is compared on no rank. NULL: neither is what the limit is exceeded by. */
static uint32_t *dearest(struct budget *budget, const struct second *second)
{
	if (budget->scan_every < BUDGET_EVERY_MAX && is_worth(budget, second, second->spent.scans))
		return &budget->scan_every;
	if (budget->progress_every == BUDGET_EVERY_MAX || !is_worth(budget, second, second->spent.progress))
		return NULL;
	return budget->small_every < SAMPLING_SMALL_EVERY ? &budget->small_every : &budget->progress_every;
}

/* As many more small operations have progress in the next second as leave what is then spent well below the limit. */
static void follow_more(struct budget *budget, const struct second *second)
{
	uint32_t every = budget->small_every, kept_ppm = budget->ppm - budget->ppm / KEPT_SHARE;

	/* A second without operations shows nothing. */
	if (every == 1 || budget->progress_every > 1 || (!second->spent.progress && !second->spent.left_out))
		return;
	uint64_t followed = second->spent.left_out / (every - 1), more = followed;
	while (budget->small_every > 1 &&
	       second->share + share_ppm(more * BUDGET_FOLLOWED_NS, second->wall_ns) <= kept_ppm) {
		budget->small_every /= 2;
		more = followed * (2 * every / budget->small_every - 1);
	}
}

static void turn_down(struct budget *budget, const struct second *second)
{
	/* Of a second that has spent all and is not over, nothing is left for the rest of it. */
	bool spent = !second->over && second->share >= budget->ppm;
	uint64_t allowed = budget->ppm ? budget->ppm : 1;
	uint32_t *every = dearest(budget, second);

	if (!every)
		return;
	do {
		*every *= spent && *every < BUDGET_EVERY_MAX / 2 ? 4 : 2;
		allowed *= 2;
	} while (*every < BUDGET_EVERY_MAX && allowed < second->share);
}

/* Half of what is left of the second's allowance may be spent before it is turned down again. */
static uint32_t next_of(uint32_t share, uint32_t limit)
{
	uint32_t step = share < limit ? (limit - share) / 2 : 0;

	if (step < limit / STEP_SHARE)
		step = limit / STEP_SHARE;
	return share < UINT32_MAX - step - 1 ? share + step + 1 : UINT32_MAX;
}

/* What a job does in its first seconds is what it is compared with later: they shall be seen. An eighth of a second
 * from the first operation on shows nearly as well how many small ones come. Who has said what may be spent waits for
 * the whole one. */
static void judge_early(struct budget *budget, const struct second *second, uint64_t now_ns)
{
	struct second early = *second;

	if (!budget_has_first(budget) || (!second->spent.progress && !second->spent.left_out))
		return;
	if (!budget->first_ns)
		budget->first_ns = now_ns;
	/* What was spent is known since the second began. */
	early.wall_ns = now_ns - (budget->first_ns > budget->since_ns ? budget->first_ns : budget->since_ns);
	if (budget->early_judged || early.wall_ns < SECOND_NS / EARLY_SHARE)
		return;
	budget->early_judged = true;
	early.share = share_ppm(second->spent.progress, early.wall_ns); /* the rest is still that of the start */
	follow_more(budget, &early);
}

static void end_second(struct budget *budget, uint32_t share)
{
	budget->calm_s = share < budget->ppm / CALM_SHARE ? budget->calm_s + 1 : 0;
	if (budget->calm_s < CALM_S)
		return;
	/* Progress first: it costs less, and shows more. */
	if (budget->progress_every > 1)
		budget->progress_every /= 2;
	else if (budget->scan_every > 1)
		budget->scan_every /= 2;
	budget->calm_s = 0;
}

static struct second second_of(const struct budget *budget, uint64_t wall_ns, const struct budget_cost *own)
{
	bool over = wall_ns >= SECOND_NS;
	struct second second = {
		.spent = { .total = own->total - budget->since.total,
			   .scans = own->scans - budget->since.scans,
			   .progress = own->progress - budget->since.progress,
			   .left_out = own->left_out - budget->since.left_out },
		.wall_ns = over ? wall_ns : SECOND_NS,
		.over = over,
	};

	second.share = share_ppm(second.spent.total, second.wall_ns);
	return second;
}

void budget_judge(struct budget *budget, uint64_t now_ns, const struct budget_cost *cost)
{
	struct budget_cost own = pay_first(budget, cost);
	uint64_t wall_ns = now_ns - budget->since_ns;
	struct second second = second_of(budget, wall_ns, &own);
	bool too_fast = share_ppm(second.spent.total, wall_ns) > budget->ppm && second.share > budget->next_ppm;

	if (too_fast) {
		budget->calm_s = 0;
		turn_down(budget, &second);
		budget->next_ppm = next_of(second.share, budget->ppm);
	}
	if (too_fast || second.over)
		budget->cost_ppm = share_ppm(cost->total - budget->total_since, second.wall_ns);
	if (!too_fast)
		judge_early(budget, &second, now_ns);
	if (!second.over)
		return;
	if (!too_fast)
		follow_more(budget, &second);
	end_second(budget, second.share);
	open_second(budget, now_ns, &own, cost->total);
}
