/* SPDX-License-Identifier: MIT */
#include "analysis/node/row_ends.h"

#include <string.h>

enum { FOLLOWS = 8 /* the usual duration follows each step by such a part of itself, at most */ };

/* Counted from 1; 0: it is in none that is known. */
static uint64_t step_of(const struct instance *instance)
{
	if (instance_is_marked(instance)) {
		int64_t told = instance_step_in_row(instance);
		return told > 0 ? (uint64_t)told : 0;
	}
	return instance->place.place == STEPS_NO_PLACE ? 0 : instance->place.step + 1;
}

static void follow(struct row_ends *ends, uint64_t lasted_ns)
{
	uint64_t most_ns = ends->step_ns / FOLLOWS;

	if (!ends->step_ns)
		ends->step_ns = lasted_ns;
	else if (lasted_ns > ends->step_ns)
		ends->step_ns += lasted_ns - ends->step_ns < most_ns ? lasted_ns - ends->step_ns : most_ns;
	else
		ends->step_ns -= ends->step_ns - lasted_ns < most_ns ? ends->step_ns - lasted_ns : most_ns;
}

/* As many steps as it takes, twice as many or half as many where rows have become that short or long. */
static void fit(struct row_ends *ends)
{
	uint64_t row_ns = ends->steps * ends->step_ns;
	bool short_ = row_ns * 2 < ROW_ENDS_LEAST_NS,
	     long_ = ends->steps > 1 && row_ns > 4 * (uint64_t)ROW_ENDS_LEAST_NS;

	if (!ends->step_ns || (ends->steps && !short_ && !long_))
		return;
	ends->steps = 1;
	while (ends->steps * ends->step_ns < ROW_ENDS_LEAST_NS && ends->steps < ROW_ENDS_STEPS)
		ends->steps *= 2;
}

static void end_step(struct row_ends *ends, uint64_t done_ns)
{
	uint8_t most = 0;

	for (uint8_t i = 1; i < RW_FUNCTION_COUNT; i++)
		most = ends->calls[i] > ends->calls[most] ? i : most;
	if (!most || !ends->whole)
		return;
	bool alike = most == ends->likely && ends->calls[most] == ends->often;
	ends->likely = most;
	ends->often = ends->calls[most];
	ends->alike = alike ? ends->alike + 1 : 1;
	if (done_ns > ends->began_ns)
		follow(ends, done_ns - ends->began_ns);
	if (ends->alike < ROW_ENDS_ALIKE)
		return;
	ends->function = ends->likely;
	ends->per_step = ends->often;
	fit(ends);
}

static void count(struct row_ends *ends, const struct instance *instance, uint64_t done_ns)
{
	uint64_t step = step_of(instance);

	if (!step)
		return;
	if (step != ends->step) {
		bool next = step == ends->step + 1;
		if (next)
			end_step(ends, done_ns);
		memset(ends->calls, 0, sizeof(ends->calls));
		ends->whole = next;
		ends->step = step;
		ends->began_ns = done_ns;
	}
	ends->calls[instance->function]++;
}

uint32_t row_ends_note(struct row_ends *ends, const struct instance *instance, uint64_t done_ns)
{
	if (instance->by_interposer || instance->function >= RW_FUNCTION_COUNT)
		return 0;
	count(ends, instance, done_ns);
	uint64_t calls = (uint64_t)ends->per_step * ends->steps;
	if (instance->function != ends->function || !calls || calls > ROW_ENDS_CALLS ||
	    (instance->sequence + 1) % calls)
		return 0;
	return (uint32_t)calls;
}
