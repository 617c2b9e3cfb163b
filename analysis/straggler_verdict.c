/* SPDX-License-Identifier: MIT */
#include "analysis/straggler_verdict.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/chance.h"

enum {
	POOL_STEPS = 20, /* steps of everybody's lateness that a change is measured against */
	MARKS = 32,
	SOME_STEPS = 5,
};

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* In each of the job's steps so far each rank had occasion to be late by chance. */
static double occasions(const struct stragglers *stragglers, const struct suspect *suspect)
{
	return (double)(suspect->step - stragglers->first_step + 1) * stragglers->suspect_count;
}

/* What the rank's lateness cost in the steps up to this one, at the given percentile. */
static uint64_t usual_cost(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
			   uint32_t percentile)
{
	uint64_t costs[STRAGGLER_PLACE_LAST];
	uint32_t count = 0;
	for (; count < STRAGGLER_PLACE_LAST && step && step >= stragglers->first_step; step--)
		costs[count++] = straggler_blame(suspect, step).late_ns;
	if (!count)
		return 0;
	qsort(costs, count, sizeof(*costs), by_value);
	return costs[(count - 1) * percentile / 100];
}

/* Those who are late now do not count: they may be at fault, too. */
double straggler_persistence(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t late_ns,
			     uint32_t steps)
{
	uint64_t newest = suspect->step, all = 0, late = 0, again = 0;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		if (other == suspect || straggler_blame(other, newest).late_ns >= late_ns)
			continue;
		for (uint64_t back = steps; back < STRAGGLER_STEPS && newest >= back + stragglers->first_step; back++) {
			bool now = straggler_blame(other, newest - back).late_ns >= late_ns;
			all++;
			late += now;
			again += now && straggler_blame(other, newest - back + steps).late_ns >= late_ns;
		}
	}
	double each = (double)(late + 1) / (double)(all + 1), once_more = ((double)again + each) / (double)(late + 1);
	bool seen = steps == 1 || (double)again > (double)late * each + 1 + 2 * sqrt((double)late * each);
	return seen && each < 1 && once_more > each ? (once_more - each) / (1 - each) : 0;
}

/* From one step to the next; what is left after some steps shows it better, where it lasts for long. */
static double lasting(const struct stragglers *stragglers, const struct suspect *suspect)
{
	double one = straggler_persistence(stragglers, suspect, 1, 1);
	double some = pow(straggler_persistence(stragglers, suspect, 1, SOME_STEPS), 1.0 / SOME_STEPS);
	return one > some ? one : some;
}

/* Somebody is last every time, and of two or three it is often the same one. */
static bool is_last_by_chance(const struct stragglers *stragglers, const struct suspect *suspect,
			      const struct place *place, uint32_t member)
{
	uint32_t times = place->count < MARKS ? place->count : MARKS;
	uint32_t last = (uint32_t)__builtin_popcount(place->marks[member]);
	double each = STRAGGLER_LAST_OF / place->member_room;
	each = each < 0.5 ? each : 0.5;
	/* Where noise lasts from step to step, so many tell as little as fewer that have nothing to do with each other. */
	double lasts = lasting(stragglers, suspect), weight = (1 - lasts) / (1 + lasts);
	times = (uint32_t)(times * weight);
	last = (uint32_t)(last * weight);
	return !chance_is_excluded(chance_at_least(last, times, each), occasions(stragglers, suspect));
}

bool straggler_is_always_late(const struct stragglers *stragglers, const struct suspect *suspect,
			      const struct place *place, uint32_t member, uint64_t limit_ns)
{
	uint32_t looked_at = place->count < STRAGGLER_PLACE_LAST ? place->count : STRAGGLER_PLACE_LAST;
	uint32_t marks = place->marks[member] & ((1u << STRAGGLER_PLACE_LAST) - 1);
	double share = looked_at < STRAGGLER_PLACE_FEW ? 1 : STRAGGLER_PLACE_SHARE;
	if (looked_at < STRAGGLER_PLACE_MIN || __builtin_popcount(marks) < share * looked_at)
		return false;
	uint64_t cost_ns = usual_cost(stragglers, suspect, suspect->step, 25);
	if (cost_ns < limit_ns || is_last_by_chance(stragglers, suspect, place, member))
		return false;
	/* Where everybody is late now and then, being it a little more often is no fault. */
	uint32_t alike = 0;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		alike += usual_cost(stragglers, &stragglers->suspects[i], suspect->step, 75) >= cost_ns;
	return alike * 2 <= stragglers->suspect_count;
}

/* What everybody else lost to lateness in the last steps, and the suspect before its `row` late ones; sorted. Returns
 * how many, 0 also on lack of memory. *costs is the caller's. */
static uint64_t others_costs(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t row,
			     uint64_t steps, uint64_t **costs)
{
	uint64_t newest = suspect->step, count = 0;
	uint64_t *pool = *costs = malloc(stragglers->suspect_count * steps * sizeof(*pool));
	for (uint32_t i = 0; pool && i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		for (uint64_t back = other == suspect ? row : 0; back < steps; back++) {
			if (newest < back + stragglers->first_step)
				break;
			pool[count++] = straggler_blame(other, newest - back).late_ns;
		}
	}
	if (count)
		qsort(pool, count, sizeof(*pool), by_value);
	return count;
}

/* The 95th percentile of everybody's lateness. */
static uint64_t usual_spread(const struct stragglers *stragglers, const struct suspect *suspect)
{
	uint64_t *pool, count = others_costs(stragglers, suspect, STRAGGLER_IN_A_ROW, POOL_STEPS, &pool);
	uint64_t spread = count ? pool[(count - 1) * 95 / 100] : 0;
	bool unknown = !pool;
	free(pool);
	return unknown ? UINT64_MAX / STRAGGLER_SPREAD_FACTOR : spread;
}

/* As late as that, or nearly, as often as everybody was in all steps that are remembered: so many times in a row? */
static bool is_late_by_chance(const struct stragglers *stragglers, const struct suspect *suspect, uint32_t row,
			      uint64_t least_ns)
{
	uint64_t *pool, count = others_costs(stragglers, suspect, row, STRAGGLER_STEPS, &pool), late = 0;
	while (late < count && pool[count - late - 1] >= least_ns / STRAGGLER_SPREAD_FACTOR)
		late++;
	free(pool);
	/* One more, that was not seen yet: who has seen few does not know that it is never. */
	double each = (double)(late + 1) / (double)(count + 1);
	/* What is rare has seldom been seen twice; noise that lasts does so at every size. */
	double lasts = straggler_persistence(stragglers, suspect, least_ns / STRAGGLER_SPREAD_FACTOR, 1);
	double any_lasts = lasting(stragglers, suspect);
	double again = each + (1 - each) * (any_lasts > lasts ? any_lasts : lasts);
	return !chance_is_excluded(each * chance_in_a_row(row - 1, again), occasions(stragglers, suspect));
}

bool straggler_has_changed(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t limit_ns)
{
	uint64_t least_ns = UINT64_MAX, enough_ns = 0;
	if (suspect->step < stragglers->first_step + STRAGGLER_HISTORY_MIN + STRAGGLER_IN_A_ROW - 1)
		return false;
	/* Three will do where lateness is rare; the more often it comes, the more it takes. */
	for (uint32_t row = 1; row <= STRAGGLER_ROW_MAX && suspect->step >= stragglers->first_step + row; row++) {
		uint64_t late_ns = straggler_blame(suspect, suspect->step - (row - 1)).late_ns;
		least_ns = late_ns < least_ns ? late_ns : least_ns;
		if (row == STRAGGLER_IN_A_ROW)
			enough_ns = STRAGGLER_SPREAD_FACTOR * usual_spread(stragglers, suspect);
		if (least_ns < limit_ns || least_ns < enough_ns)
			return false;
		if (row >= STRAGGLER_IN_A_ROW && !is_late_by_chance(stragglers, suspect, row, least_ns))
			return true;
	}
	return false;
}
