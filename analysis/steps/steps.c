/* SPDX-License-Identifier: MIT */
#include "analysis/steps/steps.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steps/period.h"

enum {
	HISTORY_FIRST = 256,
	CHECK_EVERY = 8,
	EXTRAS_MIN = 64,
	RESUMED_MIN = 3, /* steps in a row that lacked something: the program has changed */
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

/* A new pattern's steps follow those that were counted by the old one, as far as those were steps. What only repeated
 * may have been steps as well as parameters that were sent layer by layer before the first one: then the count begins
 * with the new pattern. */
static void continue_count(struct steps *steps, uint32_t start)
{
	if (!steps->pattern)
		return;
	if (steps->trust < STEPS_CERTAIN) {
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

/* As operations come, too: numbers of several threads in a row may look otherwise from their other end. */
static bool ends_once(const struct steps *steps)
{
	struct period_tail tail = { 0 };
	uint32_t ends = 0;

	for (uint32_t i = 0; i < 2 * steps->period; i++)
		ends += period_ends(&tail, steps->pattern[i % steps->period]) && i >= steps->period;
	return ends == 1;
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
	steps->trust = period.step ? STEPS_CERTAIN : STEPS_REPEAT;
	steps->ended = period.step && ends_once(steps);
	steps->omission = (struct omission){ 0 };
	steps->begun = false;
	steps->resumed = 0;
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
	bool certain = steps->trust == STEPS_CERTAIN;
	if (certain && !period->step)
		return steps->extras >= STEPS_HISTORY_MAX / 2;
	bool gone = steps->extras > 2 * steps->period + EXTRAS_MIN || steps->resumed >= RESUMED_MIN;
	return gone || (!certain && (period->length != steps->period || period->step));
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

/* A full history that the pattern explains has served, and half of it where the pattern is certain to be the step. */
static bool has_served(const struct steps *steps)
{
	uint32_t enough = steps->trust == STEPS_CERTAIN ? STEPS_HISTORY_MAX / 2 : STEPS_HISTORY_MAX;

	return steps->history_count >= enough && steps->pattern && !steps->extras;
}

/* A full history that nothing explains loses its older half. */
static void make_room(struct steps *steps)
{
	const uint32_t half = STEPS_HISTORY_MAX / 2;
	bool served = has_served(steps);

	if (!served && steps->history_count < STEPS_HISTORY_MAX)
		return;
	steps->next_check = 0;
	if (served) {
		forget_history(steps);
		return;
	}
	steps->uncounted = steps->uncounted || steps->trust < STEPS_CERTAIN;
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
	if (steps->fitting >= STEPS_REGULAR_MIN && steps->trust < STEPS_REGULAR)
		steps->trust = STEPS_REGULAR;
	if (++steps->fitting >= (uint64_t)STEPS_CERTAIN_MIN * steps->period && steps->period > 1 &&
	    steps->trust < STEPS_CERTAIN) {
		steps->trust = STEPS_CERTAIN;
		steps->uncounted = steps->uncounted || steps->skipped >= steps->period;
	}
	if (!steps->position)
		steps->step++;
	*place = (struct steps_place){ .place = steps->position, .step = steps->step };
	steps->position = (steps->position + 1) % steps->period;
	return true;
}

/* One of the numbers that the pattern ends with. */
static bool is_of_end(const struct steps *steps, uint32_t signature)
{
	uint32_t at = steps->period;

	while (at && steps->pattern[at - 1] & PERIOD_NUMBER)
		if (steps->pattern[--at] == signature)
			return true;
	return false;
}

/* Where steps have ends, as many must have ended as were counted, once all of one has come as it should. */
static void check_count(struct steps *steps, const struct omission_call *call)
{
	bool first = call->fits && !call->position;

	steps->uneven += call->ends - first;
	if (!first || !steps->ended || steps->fitting <= steps->period)
		return;
	steps->uncounted = steps->uncounted || (steps->begun && steps->uneven);
	steps->begun = true;
	steps->uneven = 0;
}

/* Its place; the verdict says whether it shows that a step has gone by that lacked operations. Where that may be so,
 * and explains more of the newest operations, they have no place until it is known. */
static enum omission_verdict find_place(struct steps *steps, uint32_t signature, struct steps_place *place)
{
	struct omission_call call = { .signature = signature, .position = steps->position, .fitting = steps->fitting };
	const struct omission_pattern pattern = { steps->pattern, steps->period, steps->ended };

	*place = (struct steps_place){ .place = STEPS_NO_PLACE, .step = steps->step };
	call.ends = period_ends(&steps->tail, signature) && is_of_end(steps, signature);
	call.fits = fits(steps, signature, place);
	if (steps->pattern)
		check_count(steps, &call);
	if (steps->fitting > steps->period)
		steps->resumed = 0;
	if (!steps->pattern || (call.fits && !steps->omission.ahead))
		return OMISSION_NONE;
	enum omission_verdict verdict = omission_add(&steps->omission, &pattern, &call);
	if (steps->omission.ahead && (steps->omission.ends || steps->omission.run > steps->fitting))
		place->place = STEPS_NO_PLACE;
	return verdict;
}

/* A step has gone by that lacked operations: its operations, and those of the next one up to where the steps
 * wait, get their places. */
static bool resume(struct steps *steps)
{
	uint32_t known = steps->omission.unbroken;

	steps->omission = (struct omission){ 0 };
	steps->extras = 0;
	steps->resumed++;
	steps->step++;
	steps->uneven--;
	uint64_t next = (count_ended(steps) - steps->history_base) * steps->period + steps->position;
	for (uint32_t at = steps->history_count; at && known && next; at--) {
		bool fits = steps->signatures[at - 1] == steps->pattern[(next - 1) % steps->period];
		next -= fits;
		known -= fits;
		steps->history[at - 1].position = fits ? (uint32_t)next : STEPS_NO_PLACE;
	}
	return true;
}

/* From now on steps are known in another way, and so are the places in them. */
static void change_way(struct steps *steps)
{
	steps->marked = !steps->marked;
	forget_history(steps);
	free(steps->pattern);
	steps->pattern = NULL;
	steps->period = steps->position = steps->extras = steps->skipped = steps->next_check = 0;
	steps->fitting = 0;
	steps->omission = (struct omission){ 0 };
	steps->trust = STEPS_REPEAT;
	steps->uncounted = true; /* what is found later is not counted from the first step on */
	steps->history_base = steps->step;
	steps->version++;
}

static void look_at_marks(struct steps *steps, bool new_pattern)
{
	if (step_marks_are_trusted(&steps->marks) != steps->marked)
		change_way(steps);
	else if (steps->marked && new_pattern)
		steps->version++;
	if (!steps->marked)
		return;
	steps->step = step_marks_newest(&steps->marks)->step;
	steps->trust = steps->marks.pattern ? STEPS_CERTAIN : STEPS_REPEAT;
}

void steps_mark(struct steps *steps, uint64_t number, uint64_t ticket, bool by_tag)
{
	bool new_pattern = step_marks_add(&steps->marks, number, ticket, by_tag, steps->step + 1);

	look_at_marks(steps, new_pattern);
}

/* One that comes late, with a ticket from before the newest mark, has no place. */
static void add_marked(struct steps *steps, uint32_t signature, uint64_t ticket, struct steps_place *place)
{
	const struct step_mark *newest = step_marks_newest(&steps->marks), *of = newest;

	*place = (struct steps_place){ .place = STEPS_NO_PLACE };
	if (ticket > newest->ticket)
		place->place = step_marks_place(&steps->marks, signature);
	else
		of = step_marks_of(&steps->marks, ticket);
	place->step = of ? of->step : 0;
}

bool steps_add(struct steps *steps, uint32_t signature, uint64_t ticket, struct steps_place *place)
{
	if (steps->marks.count) {
		add_marked(steps, signature, ticket, place);
		look_at_marks(steps, false);
		if (steps->marked)
			return false;
	}
	enum omission_verdict omission = find_place(steps, signature, place);
	if (place->place == STEPS_NO_PLACE) {
		steps->unexplained = true;
		if (!steps->history) {
			steps->history_base = count_ended(steps);
			steps->guessed = steps->step && steps->trust < STEPS_CERTAIN;
		}
	}
	if (steps->history || steps->unexplained)
		remember(steps, signature, ticket, place);
	if (omission == OMISSION_DOUBTFUL)
		steps->uncounted = true;
	bool found = omission == OMISSION_SHOWN ? resume(steps) : learn(steps);
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

int64_t steps_marked_number(const struct steps *steps, uint64_t ticket)
{
	const struct step_mark *mark = steps->marked ? step_marks_of(&steps->marks, ticket) : NULL;

	return mark ? (int64_t)mark->number : -1;
}

int64_t steps_told(const struct steps *steps, uint64_t step)
{
	if (steps->marked)
		return step_marks_number(&steps->marks, step);
	if (step_marks_are_promising(&steps->marks))
		return -1;
	return steps->trust == STEPS_CERTAIN && !steps->uncounted && step ? (int64_t)step : -1;
}

void steps_free(struct steps *steps)
{
	free(steps->history);
	free(steps->signatures);
	free(steps->pattern);
	step_marks_free(&steps->marks);
	*steps = (struct steps){ 0 };
}
