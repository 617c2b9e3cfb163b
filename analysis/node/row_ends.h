/* SPDX-License-Identifier: MIT */
/*
 * After which operations of a communicator one member's row ends: rows of whole steps, that all hosts end after the
 * same operations. The function is the one that a step calls most (of several the first in NCCL's order of names), and
 * a row ends where the number of calls is a multiple of what so many steps make of them. So hosts need not agree in
 * which step they are, nor where one begins.
 *
 * A row holds one step, or 2, 4, 8 … where steps are shorter than ROW_ENDS_LEAST_NS. Steps are those of
 * analysis/steps/steps.h, or what repeats. docs/messages.md, "Rows of time".
 */
#ifndef ANALYSIS_NODE_ROW_ENDS_H
#define ANALYSIS_NODE_ROW_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/operation.h>

#include "analysis/known/instances.h"

#define ROW_ENDS_LEAST_NS 100000000u /* a row lasts, at least */
enum {
	ROW_ENDS_ALIKE = 2,       /* steps in a row that call as often say how often a step calls */
	ROW_ENDS_STEPS = 1 << 10, /* of a row, at most */
	ROW_ENDS_CALLS = 1 << 20, /* of a row, at most */
};

/* Of one member. All 0: nothing is known. */
struct row_ends {
	uint64_t step;     /* whose calls are counted; 0: none … */
	uint64_t began_ns; /* … its first one ended then … */
	bool whole;        /* … and was seen */
	uint32_t calls[RW_FUNCTION_COUNT];
	uint8_t likely;           /* the function that the latest step called most … */
	uint32_t often, alike;    /* … how often, and in how many steps in a row */
	uint8_t function;         /* that ends rows; 0: not known yet */
	uint32_t per_step, steps; /* calls of it in a step; steps of a row */
	uint64_t step_ns;         /* how long a step lasts, usually */
};

/* The member's next operation, which keeps all members until the last has come. Returns how many calls of its function
 * a row has, if one ends with it; else 0. */
uint32_t row_ends_note(struct row_ends *ends, const struct instance *instance, uint64_t done_ns);

#endif
