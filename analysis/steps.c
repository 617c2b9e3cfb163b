/* SPDX-License-Identifier: MIT */
#include "analysis/steps.h"

#include <stdlib.h>
#include <string.h>

enum {
	HISTORY_FIRST = 256,
	HISTORY_MAX = 16384,
	REPETITIONS = 3,
	/* A run of one and the same operation is more often the layers of a first forward pass than a step, and two
	 * that take turns are those of a backward pass. */
	MONOTONOUS_MIN = 128,
	SHORT_PERIOD = 16,
	CHECK_EVERY = 8,
	EXTRAS_MIN = 64,
};

/* z[p] = how far the reversed history matches itself shifted by p. */
static void match_shifted(const struct steps_entry *history, uint32_t count, uint32_t *z)
{
	uint32_t left = 0, right = 0;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t length = 0;
		if (i < right)
			length = z[i - left] < right - i ? z[i - left] : right - i;
		while (i + length < count &&
		       history[count - 1 - length].signature == history[count - 1 - i - length].signature)
			length++;
		z[i] = length;
		if (i + length > right) {
			left = i;
			right = i + length;
		}
	}
}

struct recurrence {
	uint32_t signature, count, last;
};

static struct recurrence *recurrence_of(struct recurrence *table, uint32_t mask, uint32_t signature)
{
	uint32_t at = (signature * 2654435761u) & mask;
	while (table[at].count && table[at].signature != signature)
		at = (at + 1) & mask;
	table[at].signature = signature;
	return &table[at];
}

/* A period must contain every operation that recurs: the shortest that reaches back to the last occurrence of each.
 * What was last seen in the first quarter belongs to the warm-up. */
static uint32_t shortest_that_explains(const struct steps_entry *history, uint32_t count)
{
	uint32_t room = 64;
	while (room < count * 2)
		room *= 2;
	struct recurrence *table = calloc(room, sizeof(*table));
	if (!table)
		return UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct recurrence *seen = recurrence_of(table, room - 1, history[i].signature);
		seen->count++;
		seen->last = i;
	}
	uint32_t shortest = 1;
	for (uint32_t i = 0; i < room; i++)
		if (table[i].count >= REPETITIONS && table[i].last >= count / 4 && count - table[i].last > shortest)
			shortest = count - table[i].last;
	free(table);
	return shortest;
}

static bool is_monotonous(const struct steps_entry *history, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i < period; i++)
		if (history[count - 1 - i].signature != history[count - 1].signature)
			return false;
	return true;
}

/* Could these repetitions be the layers within one step? */
static bool may_be_layers(const struct steps_entry *history, uint32_t count, uint32_t period, uint32_t explained)
{
	if (explained >= MONOTONOUS_MIN)
		return false;
	return is_monotonous(history, count, period) || (period < SHORT_PERIOD && explained < count - count / 8);
}

/* Smallest period of the end of the history and the length of what it explains; 0 when there is none yet. */
static uint32_t find_period(const struct steps_entry *history, uint32_t count, uint32_t *explained)
{
	uint32_t shortest = shortest_that_explains(history, count);
	if (shortest > count / REPETITIONS)
		return 0;
	uint32_t *z = malloc(count * sizeof(*z));
	if (!z)
		return 0;
	match_shifted(history, count, z);
	uint32_t found = 0;
	for (uint32_t period = shortest; period <= count / REPETITIONS && !found; period++) {
		if (z[period] + period < period * REPETITIONS)
			continue;
		if (may_be_layers(history, count, period, z[period] + period))
			continue;
		found = period;
		*explained = z[period] + period;
	}
	free(z);
	return found;
}

/* Adopts what the history shows, unless that is known already. */
static bool look(struct steps *steps)
{
	uint32_t explained = 0;
	uint32_t period = find_period(steps->history, steps->history_count, &explained);
	steps->unexplained = false;
	if (!period || (steps->pattern && period == steps->period))
		return false;
	uint32_t *pattern = malloc(period * sizeof(*pattern));
	if (!pattern)
		return false;
	uint32_t first = steps->history_count - explained;
	for (uint32_t i = 0; i < period; i++)
		pattern[i] = steps->history[first + i].signature;
	steps->history_first = first;
	free(steps->pattern);
	steps->pattern = pattern;
	steps->period = period;
	steps->position = explained % period;
	steps->extras = 0;
	steps->step = steps->history_base + (explained - 1) / period + 1;
	steps->version++;
	return true;
}

static void forget_pattern(struct steps *steps)
{
	free(steps->pattern);
	steps->pattern = NULL;
	steps->period = steps->position = 0;
}

/* A full history that the pattern explains has served; one that nothing explains loses its older half. */
static void make_room(struct steps *steps)
{
	if (steps->history_count < HISTORY_MAX)
		return;
	steps->history_base = steps->step;
	steps->next_check = 0;
	if (steps->pattern) {
		free(steps->history);
		steps->history = NULL;
		steps->history_count = steps->history_room = 0;
		return;
	}
	steps->history_count = HISTORY_MAX / 2;
	memmove(steps->history, steps->history + HISTORY_MAX / 2, HISTORY_MAX / 2 * sizeof(*steps->history));
}

static void remember(struct steps *steps, uint32_t signature, uint64_t ticket)
{
	if (steps->history_count == steps->history_room) {
		uint32_t room = steps->history_room ? steps->history_room * 2 : HISTORY_FIRST;
		struct steps_entry *history = realloc(steps->history, room * sizeof(*history));
		if (!history)
			return;
		steps->history = history;
		steps->history_room = room;
	}
	steps->history[steps->history_count++] = (struct steps_entry){ signature, ticket };
}

static bool learn(struct steps *steps)
{
	if (!steps->unexplained || steps->history_count < steps->next_check)
		return false;
	uint32_t pause = steps->history_count / 16;
	steps->next_check = steps->history_count + (pause > CHECK_EVERY ? pause : CHECK_EVERY);
	return look(steps);
}

/* Its place by the pattern; false when it does not fit. */
static bool fits(struct steps *steps, uint32_t signature, struct steps_place *place)
{
	if (!steps->pattern)
		return false;
	if (signature != steps->pattern[steps->position]) {
		if (++steps->extras > 2 * steps->period + EXTRAS_MIN)
			forget_pattern(steps);
		return false;
	}
	steps->extras = 0;
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
		if (!steps->history)
			steps->history_base = steps->step;
	}
	if (steps->history || steps->unexplained)
		remember(steps, signature, ticket);
	bool found = learn(steps);
	if (found)
		*place = steps_entry_place(steps, steps->history_count - 1);
	else
		make_room(steps);
	return found;
}

struct steps_place steps_entry_place(const struct steps *steps, uint32_t entry)
{
	if (entry < steps->history_first)
		return (struct steps_place){ .place = STEPS_NO_PLACE };
	return (struct steps_place){
		.place = (entry - steps->history_first) % steps->period,
		.step = steps->history_base + (entry - steps->history_first) / steps->period + 1,
	};
}

void steps_free(struct steps *steps)
{
	free(steps->history);
	free(steps->pattern);
	*steps = (struct steps){ 0 };
}
