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

static void end_step(struct row_ends *ends, const struct instance *instance, uint64_t done_ns)
{
	uint8_t most = 0;

	for (uint8_t i = 1; i < RW_FUNCTION_COUNT; i++)
		most = ends->calls[i] > ends->calls[most] ? i : most;
	if (!most || !ends->whole)
		return;
	/* With an evaluation after every so many steps all these together repeat as well. */
	bool certain = instance_is_marked(instance) || instance_is_in_step(instance);
	if (!certain && done_ns > ends->began_ns + ROW_ENDS_LONG_NS)
		return;
	bool alike = most == ends->likely && ends->calls[most] == ends->often;
	ends->likely = most;
	ends->often = ends->calls[most];
	ends->alike = alike ? ends->alike + 1 : 1;
	if (done_ns > ends->began_ns)
		follow(ends, done_ns - ends->began_ns);
	if (ends->alike < ROW_ENDS_ALIKE)
		return;
	if (ends->function != ends->likely) {
		ends->called_ns = done_ns;
		ends->others = 0;
	}
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
			end_step(ends, instance, done_ns);
		memset(ends->calls, 0, sizeof(ends->calls));
		ends->whole = next;
		ends->step = step;
		ends->began_ns = done_ns;
	}
	ends->calls[instance->function]++;
}

static uint32_t end_by_steps(const struct row_ends *ends, const struct instance *instance)
{
	uint64_t calls = (uint64_t)ends->per_step * ends->steps;

	if (row_ends_function(instance) != ends->function || !calls || calls > ROW_ENDS_CALLS ||
	    (instance->sequence + 1) % calls)
		return 0;
	return (uint32_t)calls;
}

/* From one end to the next it should be neither too short nor too long. How long it is follows from how fast operations
 * come: the last row was often of another shift, ended close before a multiple of this one, or while operations came
 * quicker. Where none came for too long, the shift is too large in any case, also where only some of the operations are
 * seen. */
static void fit_shift(struct row_calls *by, uint64_t done_ns, bool end)
{
	uint64_t lasted_ns = done_ns > by->looked_ns ? done_ns - by->looked_ns : 0;
	double each_ns = (double)lasted_ns / by->seen;
	double stretch_ns = each_ns * (double)(UINT64_C(1) << by->shift);

	if (end && by->last_ns && done_ns < by->last_ns + ROW_ENDS_SHORT_NS)
		by->shift += stretch_ns < ROW_ENDS_SHORT_NS && by->shift < ROW_ENDS_SHIFT_MAX;
	else if (lasted_ns > ROW_ENDS_LONG_NS && by->shift)
		do
			stretch_ns = each_ns * (double)(UINT64_C(1) << --by->shift);
		while (by->shift && stretch_ns > ROW_ENDS_LONG_NS);
	by->seen = 0;
	by->looked_ns = done_ns;
	by->last_ns = end ? done_ns : by->last_ns;
}

/* The number of calls, roughly: as a power of two. */
static int magnitude(uint64_t number)
{
	return number ? 64 - __builtin_clzll(number) : 0;
}

/* Is this function the one whose operations end rows? It is the one that was called most so far, which is the same on
 * all hosts, whenever they began to look; of such that were called about as often it is the one with the least
 * number. */
static bool is_most_frequent(struct row_calls *by, uint8_t function, uint64_t number, uint64_t done_ns)
{
	bool stale = done_ns > by->seen_ns + ROW_ENDS_STALE_NS;
	int more = magnitude(number) - magnitude(by->number);

	if (!by->function || (by->function != function && (stale || more > 0 || (!more && function < by->function))))
		*by = (struct row_calls){ .function = function, .looked_ns = done_ns };
	if (by->function != function)
		return false;
	by->number = number;
	by->seen++;
	by->seen_ns = done_ns;
	return true;
}

static uint32_t end_by_calls(struct row_calls *by, const struct instance *instance, uint64_t done_ns)
{
	uint64_t number = instance->sequence + 1, calls;

	if (!is_most_frequent(by, row_ends_function(instance), number, done_ns))
		return 0;
	calls = UINT64_C(1) << by->shift;
	bool end = number % calls == 0;
	if (end || done_ns > by->looked_ns + ROW_ENDS_LONG_NS)
		fit_shift(by, done_ns, end);
	return end ? (uint32_t)calls : 0;
}

/* No other function was called as often in a step. */
static bool is_called_no_longer(struct row_ends *ends, uint8_t function, uint64_t done_ns)
{
	if (function == ends->function) {
		ends->called_ns = done_ns;
		ends->others = 0;
		return false;
	}
	ends->others++;
	return ends->function && ends->others / RW_FUNCTION_COUNT > ends->per_step &&
	       done_ns > ends->called_ns + ROW_ENDS_STALE_NS;
}

uint32_t row_ends_note(struct row_ends *ends, const struct instance *instance, uint64_t done_ns)
{
	if (!instance->by_interposer && instance->function < RW_FUNCTION_COUNT)
		count(ends, instance, done_ns);
	if (is_called_no_longer(ends, row_ends_function(instance), done_ns))
		*ends = (struct row_ends){ .by_calls = ends->by_calls };
	return ends->function ? end_by_steps(ends, instance) : end_by_calls(&ends->by_calls, instance, done_ns);
}
