/* SPDX-License-Identifier: MIT */
#include "analysis/steps/period.h"

#include <stdlib.h>
#include <string.h>

enum {
	REPETITIONS = 3,
	STEP_REPETITIONS = 2,
	/* A run of one and the same operation is more often the layers of a first forward pass than a step, and two
	 * that take turns are those of a backward pass. */
	MONOTONOUS_MIN = 128,
	SHORT_PERIOD = 16,
};

bool period_starts(const uint32_t *signatures, uint32_t at)
{
	uint32_t before = at;

	if (!at || signatures[at] & PERIOD_NUMBER || !(signatures[at - 1] & PERIOD_NUMBER))
		return false;
	while (before && signatures[before - 1] & PERIOD_NUMBER)
		before--;
	/* All stages of a pipeline but the first send after their last backward pass: by the training loop's thread. */
	while (before && signatures[before - 1] & PERIOD_TRANSFER &&
	       !((signatures[before - 1] ^ signatures[at - 1]) & PERIOD_FIRST_THREAD))
		before--;
	return before && (signatures[before - 1] ^ signatures[at - 1]) & PERIOD_FIRST_THREAD;
}

bool period_ends(struct period_tail *tail, uint32_t signature)
{
	bool number = signature & PERIOD_NUMBER, by_first = signature & PERIOD_FIRST_THREAD;
	bool ends = number && !tail->number && tail->known[by_first] && tail->by_first[by_first] != by_first;

	for (int thread = 0; thread < 2; thread++) {
		if (signature & PERIOD_TRANSFER && by_first == thread)
			continue;
		tail->known[thread] = true;
		tail->by_first[thread] = by_first;
	}
	tail->number = number;
	return ends;
}

/* z[p] = how far the reversed history matches itself shifted by p. */
static void match_shifted(const uint32_t *signatures, uint32_t count, uint32_t *z)
{
	uint32_t left = 0, right = 0;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t length = 0;
		if (i < right)
			length = z[i - left] < right - i ? z[i - left] : right - i;
		while (i + length < count && signatures[count - 1 - length] == signatures[count - 1 - i - length])
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
	uint32_t at = (signature * 2654435761u >> 8) & mask;
	while (table[at].count && table[at].signature != signature)
		at = (at + 1) & mask;
	table[at].signature = signature;
	return &table[at];
}

/* A period must contain every operation that recurs: the shortest that reaches back to the last occurrence of each.
 * What was last seen in the first quarter belongs to the warm-up. */
static uint32_t shortest_that_explains(const uint32_t *signatures, uint32_t count)
{
	uint32_t room = 64;
	while (room < count * 2)
		room *= 2;
	struct recurrence *table = calloc(room, sizeof(*table));
	if (!table)
		return UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct recurrence *seen = recurrence_of(table, room - 1, signatures[i]);
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

static bool is_monotonous(const uint32_t *signatures, uint32_t length)
{
	for (uint32_t i = 1; i < length; i++)
		if (signatures[i] != signatures[0])
			return false;
	return true;
}

/* Could these repetitions be the layers within one step? */
static bool may_be_layers(const uint32_t *signatures, uint32_t count, uint32_t length, uint32_t explained)
{
	if (explained >= MONOTONOUS_MIN)
		return false;
	return is_monotonous(signatures + count - length, length) ||
	       (length < SHORT_PERIOD && explained < count - count / 8);
}

/* All but the numbers at the end is one block several times. */
static bool is_manifold(const uint32_t *signatures, uint32_t length)
{
	while (signatures[length - 1] & PERIOD_NUMBER)
		length--;
	for (uint32_t block = 1; block <= length / 2; block++)
		if (length % block == 0 &&
		    !memcmp(signatures, signatures + block, (length - block) * sizeof(*signatures)))
			return true;
	return false;
}

/* `period` describes repetitions; is one of them a step? Then it is turned so that it begins as one. */
static void recognise_step(const uint32_t *signatures, uint32_t count, struct period *period)
{
	uint32_t ends = 0, first = count - period->explained;

	/* What is before the second repetition shows where that starts. */
	for (uint32_t at = first + period->length; at < first + 2 * period->length; at++) {
		if (!period_starts(signatures, at))
			continue;
		period->start = at - period->length;
		ends++;
	}
	/* Two whole ones from there: an operation that comes once before each of the first two is no part of a step. */
	period->step = ends == 1 && period->start + STEP_REPETITIONS * period->length <= count &&
		       !is_manifold(signatures + period->start, period->length);
	if (!period->step)
		period->start = first;
}

static bool is_accepted(const uint32_t *signatures, uint32_t count, struct period *period, uint32_t *layers)
{
	if (period->explained < period->length * STEP_REPETITIONS)
		return false;
	recognise_step(signatures, count, period);
	if (period->step)
		return true;
	if (period->explained < period->length * REPETITIONS || (*layers && period->length % *layers == 0))
		return false;
	if (!may_be_layers(signatures, count, period->length, period->explained))
		return true;
	*layers = period->length; /* then several of them are none either */
	return false;
}

struct period period_find(const uint32_t *signatures, uint32_t count)
{
	struct period period = { .length = shortest_that_explains(signatures, count) };
	uint32_t layers = 0;

	if (period.length > count / STEP_REPETITIONS)
		return (struct period){ 0 };
	uint32_t *z = malloc(count * sizeof(*z));
	if (!z)
		return (struct period){ 0 };
	match_shifted(signatures, count, z);
	for (; period.length <= count / STEP_REPETITIONS; period.length++) {
		period.explained = z[period.length] + period.length;
		if (is_accepted(signatures, count, &period, &layers))
			break;
	}
	free(z);
	return period.length <= count / STEP_REPETITIONS ? period : (struct period){ 0 };
}
