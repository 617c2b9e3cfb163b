/* SPDX-License-Identifier: MIT */
#include "analysis/steps.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/period.h"

enum {
	HISTORY_FIRST = 256,
	HISTORY_MAX = 65536,
	CHECK_EVERY = 8,
	EXTRAS_MIN = 64,
	EXTRAS_IN_STEP = 8, /* what comes once may be in the middle of a step that is looked for backwards */
};

/* Where the step ends that starts before `end`: UINT32_MAX when it is not this pattern. Gives its operations their
 * positions from `base` on, unless that is STEPS_NO_PLACE. */
static uint32_t step_before(struct steps *steps, uint32_t end, uint32_t base)
{
	uint32_t left = steps->period, extras = 0, at = end;

	while (left && at && extras <= EXTRAS_IN_STEP) {
		bool fits = steps->signatures[--at] == steps->pattern[left - 1];
		left -= fits;
		extras += !fits;
		if (base != STEPS_NO_PLACE)
			steps->history[at].position = fits ? base + left : STEPS_NO_PLACE;
	}
	return left ? UINT32_MAX : at;
}

/* Steps before the first that the period explains, with or without operations that come once in between. */
static uint32_t place_backwards(struct steps *steps, uint32_t start)
{
	uint32_t steps_before = 0, at = start;

	while ((at = step_before(steps, at, STEPS_NO_PLACE)) != UINT32_MAX)
		steps_before++;
	at = start;
	for (uint32_t left = steps_before; left; left--)
		at = step_before(steps, at, (left - 1) * steps->period);
	return steps_before;
}

static uint32_t count_starts(const struct steps *steps, uint32_t before)
{
	uint32_t count = 0;

	for (uint32_t at = 1; at <= before && at < steps->history_count; at++)
		count += period_starts(steps->signatures, at);
	return count;
}

/* Steps that end by their numbers count also where they are not like the later ones: the first often is not. */
static void place_history(struct steps *steps, const struct period *period)
{
	uint32_t before = 0, ends = 0;

	for (uint32_t i = 0; i < period->start; i++)
		steps->history[i].position = STEPS_NO_PLACE;
	if (period->step) {
		before = place_backwards(steps, period->start);
		ends = count_starts(steps, period->start);
	}
	for (uint32_t i = period->start; i < steps->history_count; i++)
		steps->history[i].position = before * period->length + i - period->start;
	if (ends > before)
		steps->history_base += ends - before;
}

/* A new pattern's steps follow those that were counted by the old one, as far as those were steps. */
static void continue_count(struct steps *steps, uint32_t start)
{
	if (!steps->pattern)
		return;
	if (!steps->certain) {
		steps->uncounted = steps->uncounted || steps->guessed;
		return;
	}
	uint32_t last = start;
	while (last && steps->history[last - 1].position == STEPS_NO_PLACE)
		last--;
	if (last)
		steps->history_base += steps->history[last - 1].position / steps->period + 1;
	steps->history_count -= start;
	memmove(steps->history, steps->history + start, steps->history_count * sizeof(*steps->history));
	memmove(steps->signatures, steps->signatures + start, steps->history_count * sizeof(*steps->signatures));
}

static bool adopt(struct steps *steps, struct period period)
{
	uint32_t *pattern = malloc(period.length * sizeof(*pattern));

	if (!pattern)
		return false;
	memcpy(pattern, steps->signatures + period.start, period.length * sizeof(*pattern));
	uint32_t kept = steps->history_count;
	continue_count(steps, period.start);
	period.start -= kept - steps->history_count;
	free(steps->pattern);
	steps->pattern = pattern;
	steps->period = period.length;
	steps->skipped = period.start;
	steps->certain = period.step;
	steps->regular = false;
	place_history(steps, &period);
	uint32_t next = steps->history[steps->history_count - 1].position + 1;
	steps->position = next % period.length;
	steps->step = steps->history_base + (next - 1) / period.length + 1;
	steps->extras = 0;
	steps->fitting = period.explained;
	steps->version++;
	return true;
}

/* A step stays one until it does not come any more; what has only repeated gives way to what explains more. */
static bool is_better(const struct steps *steps, const struct period *period)
{
	if (!period->length)
		return false;
	if (!steps->pattern)
		return true;
	if (steps->certain && !period->step)
		return steps->extras >= HISTORY_MAX / 2;
	bool gone = steps->extras > 2 * steps->period + EXTRAS_MIN;
	return gone || (!steps->certain && (period->length != steps->period || period->step));
}

/* Adopts what the history shows, unless that is known already. */
static bool look(struct steps *steps)
{
	struct period period = period_find(steps->signatures, steps->history_count);

	steps->unexplained = false;
	return is_better(steps, &period) && adopt(steps, period);
}

/* Steps that have ended. */
static uint64_t count_ended(const struct steps *steps)
{
	return steps->position ? steps->step - 1 : steps->step;
}

static void forget_history(struct steps *steps)
{
	free(steps->history);
	free(steps->signatures);
	steps->history = NULL;
	steps->signatures = NULL;
	steps->history_count = steps->history_room = 0;
	steps->unexplained = false;
}

/* A full history that the pattern explains has served; one that nothing explains loses its older half. */
static void make_room(struct steps *steps)
{
	const uint32_t half = HISTORY_MAX / 2;

	if (steps->history_count < HISTORY_MAX)
		return;
	steps->next_check = 0;
	if (steps->pattern && !steps->extras) {
		forget_history(steps);
		return;
	}
	steps->uncounted = steps->uncounted || !steps->certain;
	steps->history_base = count_ended(steps);
	steps->history_count = half;
	memmove(steps->history, steps->history + half, half * sizeof(*steps->history));
	memmove(steps->signatures, steps->signatures + half, half * sizeof(*steps->signatures));
	for (uint32_t i = 0; i < half; i++)
		steps->history[i].position = STEPS_NO_PLACE;
}

static bool grow_history(struct steps *steps)
{
	uint32_t room = steps->history_room ? steps->history_room * 2 : HISTORY_FIRST;
	struct steps_entry *history = realloc(steps->history, room * sizeof(*history));

	if (history)
		steps->history = history;
	uint32_t *signatures = realloc(steps->signatures, room * sizeof(*signatures));
	if (signatures)
		steps->signatures = signatures;
	if (history && signatures)
		steps->history_room = room;
	return history && signatures;
}

static void remember(struct steps *steps, uint32_t signature, uint64_t ticket, const struct steps_place *place)
{
	if (steps->history_count == steps->history_room && !grow_history(steps))
		return;
	uint32_t position = STEPS_NO_PLACE;
	if (place->place != STEPS_NO_PLACE)
		position = (uint32_t)(place->step - steps->history_base - 1) * steps->period + place->place;
	steps->signatures[steps->history_count] = signature;
	steps->history[steps->history_count++] = (struct steps_entry){ ticket, position };
}

static bool learn(struct steps *steps)
{
	if (!steps->unexplained || !steps->history || steps->history_count < steps->next_check)
		return false;
	uint32_t pause = steps->history_count / 16;
	steps->next_check = steps->history_count + (pause > CHECK_EVERY ? pause : CHECK_EVERY);
	return look(steps);
}

/* Its place by the pattern; false when it does not fit. */
static bool fits(struct steps *steps, uint32_t signature, struct steps_place *place)
{
	if (!steps->pattern || signature != steps->pattern[steps->position]) {
		steps->extras++;
		steps->fitting = 0;
		return false;
	}
	steps->extras = 0;
	if (steps->fitting >= STEPS_REGULAR)
		steps->regular = true;
	if (++steps->fitting >= (uint64_t)STEPS_CERTAIN * steps->period && steps->period > 1 && !steps->certain) {
		steps->certain = true;
		steps->uncounted = steps->uncounted || steps->skipped >= steps->period;
	}
	if (!steps->position)
		steps->step++;
	*place = (struct steps_place){ .place = steps->position, .step = steps->step };
	steps->position = (steps->position + 1) % steps->period;
	return true;
}

bool steps_add(struct steps *steps, uint32_t signature, uint64_t ticket, struct steps_place *place)
{
	*place = (struct steps_place){ .place = STEPS_NO_PLACE, .step = steps->step };
	if (!fits(steps, signature, place)) {
		steps->unexplained = true;
		if (!steps->history) {
			steps->history_base = count_ended(steps);
			steps->guessed = steps->step && !steps->certain;
		}
	}
	if (steps->history || steps->unexplained)
		remember(steps, signature, ticket, place);
	bool found = learn(steps);
	if (found)
		*place = steps_entry_place(steps, steps->history_count - 1);
	else
		make_room(steps);
	return found;
}

struct steps_place steps_entry_place(const struct steps *steps, uint32_t entry)
{
	uint32_t position = steps->history[entry].position;

	if (position == STEPS_NO_PLACE)
		return (struct steps_place){ .place = STEPS_NO_PLACE };
	return (struct steps_place){
		.place = position % steps->period,
		.step = steps->history_base + position / steps->period + 1,
	};
}

int64_t steps_told(const struct steps *steps, uint64_t step)
{
	return steps->certain && !steps->uncounted && step ? (int64_t)step : -1;
}

void steps_free(struct steps *steps)
{
	free(steps->history);
	free(steps->signatures);
	free(steps->pattern);
	*steps = (struct steps){ 0 };
}
