/* SPDX-License-Identifier: MIT */
#include "analysis/late/straggler_cost.h"

#include <stdlib.h>

#include "analysis/measure/lost_time.h"
#include "analysis/model.h"
#include "analysis/numbers/sorting.h"

enum {
	COST_STEPS = 4,   /* steps that the cost is measured over */
	BEFORE_STEPS = 20, /* and those before the change that it is compared with … */
	BEFORE_MIN = 3,   /* … at least */
	BEFORE_LATEST = STRAGGLER_STEPS - 1, /* steps that are kept of a rank before the one that it was late in last */
	FEW_OF_GROWTH = 2, /* lost time below 1/2 of what steps have become longer by is not all of it */
	PART = 8,         /* a lateness below 1/8 of the latest is not what began then */
};

static uint64_t find_since(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t limit_ns)
{
	uint64_t since = suspect->step, part_ns = suspect_blame(suspect, suspect->step).late_ns / PART;

	if (limit_ns < part_ns)
		limit_ns = part_ns;
	for (uint64_t back = 1; back < STRAGGLER_STEPS && suspect->step > back; back++) {
		uint64_t step = suspect->step - back;
		if (step < stragglers->first_step)
			break;
		if (suspect_blame(suspect, step).late_ns >= limit_ns)
			since = step;
		else if (since > step + 1)
			break; /* two clean steps in a row: another story */
	}
	return since;
}

/* Of all that are remembered, of those behind `from` up to `until`. */
static uint64_t mean_between_ns(const struct stragglers *stragglers, uint64_t from, uint64_t until)
{
	uint64_t sum_ns = 0, count = 0;

	for (uint32_t i = 0; i < PACE_STEPS; i++) {
		uint64_t step = stragglers->pace.starts[i].step,
			 duration_ns = step ? pace_duration_ns(&stragglers->pace, step) : 0;
		if (step <= from || step > until)
			continue;
		sum_ns += duration_ns;
		count += duration_ns != 0;
	}
	return count ? sum_ns / count : 0;
}

/* From one of its times to another; where they are forgotten, of all steps. */
static uint64_t mean_step_ns(const struct stragglers *stragglers, const struct intermittent *intermittent)
{
	uint64_t between_ns = mean_between_ns(stragglers, intermittent->since, intermittent->last);

	return between_ns ? between_ns : mean_between_ns(stragglers, 0, UINT64_MAX);
}

/* Processes that are not certain of their steps number them by themselves: what was late in one may count in another.
 * And it may have begun in the step before the first that could be measured. */
static bool is_untold(const struct suspect *suspect, uint64_t since)
{
	for (uint64_t step = since ? since - 1 : 0; step <= suspect->step; step++)
		if (suspect_blame(suspect, step).untold)
			return true;
	return false;
}

/* At this percentile of those steps that are known, `last` inclusive; 0: fewer than `least`. */
static uint64_t duration_ns(const struct stragglers *stragglers, uint64_t first, uint64_t last, uint32_t least,
			    uint32_t percentile)
{
	uint64_t durations[STRAGGLER_STEPS];
	uint32_t count = 0;
	for (uint64_t step = first; step <= last && count < STRAGGLER_STEPS; step++) {
		durations[count] = pace_duration_ns(&stragglers->pace, step);
		count += durations[count] != 0;
	}
	if (!count || count < least)
		return 0;
	sort_u64(durations, count);
	return durations[(count - 1) * percentile / 100];
}

/* A lateness at the start of a step makes the one before it longer. Of those before that the faster ones count:
 * start-up and checkpoints take their time for other reasons. */
static uint64_t find_before(const struct stragglers *stragglers, uint64_t since)
{
	if (since < 3)
		return 0;
	uint64_t first = since > BEFORE_STEPS + 1 ? since - BEFORE_STEPS - 1 : 1;
	return duration_ns(stragglers, first, since - 2, BEFORE_MIN, 25);
}

/* With several late ranks each is charged with what the job loses while the others are like the rest. */
static uint64_t replay_cost(const struct analysis *analysis, const uint32_t *ranks, uint32_t count, uint64_t first_step)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	bool late = false;
	for (uint32_t i = 0; i < count; i++)
		late |= stragglers->suspects[ranks[i]].decided_ns != 0;
	bool *healed = late ? calloc(analysis->job.rank_count, sizeof(*healed)) : NULL;
	if (!healed)
		return 0; /* nobody has decided yet that it is late: it is like the rest in both */
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		healed[i] = stragglers->suspects[i].decided_ns != 0;
	uint64_t all = lost_time_replay(&analysis->instances, first_step, healed);
	for (uint32_t i = 0; i < count; i++)
		healed[ranks[i]] = false;
	uint64_t without = lost_time_replay(&analysis->instances, first_step, healed);
	free(healed);
	return all > without ? all - without : 0;
}

struct charge {
	uint64_t late_ns;    /* all lateness of the ranks in these steps */
	uint64_t certain_ns; /* of it: what others cannot have used */
};

/* While the others wait for a late device, their own devices compute ahead, and so the next wait is of the same time
 * once more. Nothing shows how far ahead they are: only the longest of a step is lost for certain. A host's stalls add
 * up. */
static struct charge add_charges(const struct stragglers *stragglers, const uint32_t *ranks, uint32_t count,
				 uint64_t first, uint64_t last)
{
	struct charge charge = { 0 };
	for (uint64_t step = first; step <= last; step++)
		for (uint32_t i = 0; i < count; i++) {
			struct blame blame = suspect_blame(&stragglers->suspects[ranks[i]], step);
			charge.late_ns += blame.late_ns;
			charge.certain_ns += blame.host_ns + blame.device_most_ns;
		}
	return charge;
}

/* Did they take part in what nobody could follow? Then they may have been later than was seen. */
static bool is_partly_seen(const struct stragglers *stragglers, const uint32_t *ranks, uint32_t count, uint64_t first,
			   uint64_t last)
{
	for (uint64_t step = first; step <= last; step++)
		for (uint32_t i = 0; i < count; i++)
			if (suspect_blame(&stragglers->suspects[ranks[i]], step).partly)
				return true;
	return false;
}

static bool is_alone(const struct stragglers *stragglers, const uint32_t *ranks, uint32_t count)
{
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		bool named = !stragglers->suspects[i].decided_ns;
		for (uint32_t k = 0; k < count; k++)
			named |= ranks[k] == i;
		if (!named)
			return false;
	}
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Rows also add up what is too little in a single operation to be seen. */
static uint64_t by_rows_ns(const struct analysis *analysis, const uint32_t *ranks, uint32_t count)
{
	uint64_t late_ns = 0;

	for (uint32_t i = 0; i < count; i++)
		late_ns =
		    largest(late_ns, rows_late_ns(&analysis->rows, ranks[i], COST_STEPS) / rows_steps(&analysis->rows));
	return late_ns;
}

/* What steps take longer than before; UINT64_MAX: not known, or others may have a part in it. */
static uint64_t growth_ns(const struct stragglers *stragglers, const struct suspect *suspect, const uint32_t *ranks,
			  uint32_t count)
{
	uint64_t first = suspect->step > COST_STEPS ? suspect->step - COST_STEPS : 1;
	if (first + 1 < suspect->since_step)
		first = suspect->since_step - 1;
	uint64_t now_ns = duration_ns(stragglers, first, suspect->step, 1, 50);
	if (!suspect->before_ns || !now_ns || !is_alone(stragglers, ranks, count))
		return UINT64_MAX;
	return now_ns > suspect->before_ns ? now_ns - suspect->before_ns : 0;
}

/* Of all steps since the first of its times: what one loses on average. */
static struct straggler_cost cost_now_and_then(const struct stragglers *stragglers, struct suspect *suspect)
{
	uint32_t rank = (uint32_t)(suspect - stragglers->suspects);
	const struct intermittent *intermittent = suspect->intermittent;
	double steps = suspect_interval(intermittent) * intermittent->times;
	struct straggler_cost cost = { .since_step = intermittent->since,
				       .step_ns = mean_step_ns(stragglers, intermittent) };

	cost.lost_ns = cost.at_most_ns = (uint64_t)((double)intermittent->late_ns / (steps > 1 ? steps : 1));
	if (cost.lost_ns > cost.step_ns)
		cost.step_ns = cost.lost_ns;
	suspect->untold = is_untold(suspect, suspect->step > 3 ? suspect->step - 3 : 1);
	cost.at_least = is_partly_seen(
	    stragglers, &rank, 1, suspect->step > BEFORE_LATEST ? suspect->step - BEFORE_LATEST : 1, suspect->step);
	return cost;
}

struct straggler_cost straggler_cost(struct analysis *analysis, const uint32_t *ranks, uint32_t count)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	struct suspect *suspect = &analysis->stragglers.suspects[ranks[0]];
	if (suspect->intermittent->decided)
		return cost_now_and_then(stragglers, suspect);
	struct straggler_cost cost = { .step_ns = pace_step_ns(&stragglers->pace, COST_STEPS) };
	if (!suspect->open || !suspect->since_step) {
		suspect->since_step = find_since(stragglers, suspect, suspect_limit_ns(cost.step_ns));
		suspect->untold = is_untold(suspect, suspect->since_step);
		suspect->before_ns = find_before(stragglers, suspect->since_step);
	}
	cost.since_step = suspect->since_step;
	uint64_t first = suspect->step >= COST_STEPS ? suspect->step - COST_STEPS + 1 : 1;
	if (first < cost.since_step)
		first = cost.since_step;
	uint64_t steps = suspect->step - first + 1, growth = growth_ns(stragglers, suspect, ranks, count);
	uint64_t replayed_ns = replay_cost(analysis, ranks, count, first) / steps;
	struct charge charge = add_charges(stragglers, ranks, count, first, suspect->step);
	if (growth == UINT64_MAX) {
		cost.at_most_ns = replayed_ns;
		cost.lost_ns = least(replayed_ns, charge.certain_ns / steps);
	} else {
		/* Steps grew when this rank, and no other, became late: what the replay lost on its way is of no
		 * matter. */
		uint64_t late_ns = largest(charge.late_ns / steps, by_rows_ns(analysis, ranks, count));
		cost.lost_ns = cost.at_most_ns = least(growth, largest(late_ns, replayed_ns));
	}
	/* What steps have become longer by is all of it, however little of it was followed. Where it is far more than
	 * the rank was seen to be late, what slows it slows others, too, or what it does to them was not all seen. */
	cost.at_least = cost.lost_ns < growth && (is_partly_seen(stragglers, ranks, count, first, suspect->step) ||
						  (growth != UINT64_MAX && cost.lost_ns < growth / FEW_OF_GROWTH));
	/* Steps that ended before the lateness began are too short to hold it: one takes what it took, and the loss. */
	if (suspect->before_ns && cost.step_ns < suspect->before_ns + cost.lost_ns)
		cost.step_ns = suspect->before_ns + cost.lost_ns;
	if (cost.lost_ns > cost.step_ns)
		cost.step_ns = pace_step_ns(&stragglers->pace, 1);
	if (cost.lost_ns > cost.step_ns)
		cost.step_ns = cost.lost_ns;
	return cost;
}
