/* SPDX-License-Identifier: MIT */
/*
 * After which operations of a communicator one member's row ends: after the same operations on all hosts.
 *
 * Where steps are known a row is whole steps. The function is the one that a step calls most (of several the first in
 * NCCL's order of names), and a row ends where the number of calls is a multiple of what so many steps make of them. So
 * hosts need not agree in which step they are, nor where one begins.
 *
 * A row holds one step, or 2, 4, 8 … where steps are shorter than ROW_ENDS_LEAST_NS. Steps are those of
 * analysis/steps/steps.h, or what repeats within ROW_ENDS_LONG_NS.
 *
 * Where no step is known, or none any more and that function is no longer called, a row ends after each operation of
 * the most frequent function whose number, counted from 1, is a multiple of 2^shift, so that it lasts from
 * ROW_ENDS_SHORT_NS to ROW_ENDS_LONG_NS. All hosts see the same operations with the same numbers in the same time, so
 * they choose the same; where one of them chooses another shift, the coarser ends are a subset of the finer ones.
 * docs/messages.md, "Rows of time".
 */
#ifndef ANALYSIS_NODE_ROW_ENDS_H
#define ANALYSIS_NODE_ROW_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/message.h>
#include <rankwatch/operation.h>

#include "analysis/known/instances.h"

#define ROW_ENDS_LEAST_NS 100000000u  /* a row of steps lasts, at least */
#define ROW_ENDS_SHORT_NS 1000000000u /* the same where steps are not known, … */
#define ROW_ENDS_LONG_NS  4000000000u /* … and at most; after this time the shift is fitted in any case */
#define ROW_ENDS_STALE_NS 8000000000u /* after this time without an operation a function is no longer called */
enum {
	ROW_ENDS_ALIKE = 2,       /* steps in a row that call as often say how often a step calls */
	ROW_ENDS_STEPS = 1 << 10, /* of a row, at most */
	ROW_ENDS_SHIFT_MAX = 20,
	ROW_ENDS_CALLS = 1 << ROW_ENDS_SHIFT_MAX, /* of a row, at most */
};

/* Rows of one member while steps are not known. */
struct row_calls {
	uint8_t function; /* row_ends_function(); 0: none was seen yet */
	uint8_t shift;
	uint64_t number, seen_ns; /* of its last operation, counted from 1, and its end */
	uint64_t last_ns;         /* when the last row ended */
	uint64_t looked_ns;       /* when the shift was last fitted … */
	uint32_t seen;            /* … and operations since then */
};

/* Of one member. All 0: nothing is known. */
struct row_ends {
	uint64_t step;     /* whose calls are counted; 0: none … */
	uint64_t began_ns; /* … its first one ended then … */
	bool whole;        /* … and was seen */
	uint32_t calls[RW_FUNCTION_COUNT];
	uint8_t likely;           /* the function that the latest step called most … */
	uint32_t often, alike;    /* … how often, and in how many steps in a row */
	uint8_t function;         /* that ends rows; 0: not known yet, or not called any more */
	uint64_t called_ns;       /* when it was called last … */
	uint32_t others;          /* … and how many others were since */
	uint32_t per_step, steps; /* calls of it in a step; steps of a row */
	uint64_t step_ns;         /* how long a step lasts, usually */
	struct row_calls by_calls;
};

/* Of its messages: calls that NCCL does not announce are numbered separately. */
static inline uint8_t row_ends_function(const struct instance *instance)
{
	return instance->function | (instance->by_interposer ? RW_MESSAGE_APART : 0);
}
/* Of a row; 0: they are not known. */
static inline uint32_t row_ends_steps(const struct row_ends *ends)
{
	return ends->function ? ends->steps : 0;
}

/* The member's next operation, which keeps all members until the last has come. Returns how many calls of its function
 * a row has, if one ends with it; else 0. */
uint32_t row_ends_note(struct row_ends *ends, const struct instance *instance, uint64_t done_ns);

#endif
