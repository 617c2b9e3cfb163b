/* SPDX-License-Identifier: MIT */
/*
 * Where in the training step an operation is, from the sequence of operations of one process alone: the smallest
 * period that explains everything that recurs. Robust against operations that come once (checkpoint, evaluation,
 * warm-up): they have no place. Steps count from the first repetition's start, which is step 1.
 */
#ifndef ANALYSIS_STEPS_H
#define ANALYSIS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define STEPS_NO_PLACE UINT32_MAX

struct steps_entry {
	uint32_t signature;
	uint64_t ticket;
};

struct steps {
	struct steps_entry *history; /* NULL while a period explains everything */
	uint32_t history_count, history_room, next_check;
	uint32_t history_first; /* where the first repetition starts */
	uint64_t history_base;  /* steps before the history */
	uint32_t *pattern;      /* signatures of one step; NULL while no period is known */
	uint32_t period, position;
	uint32_t extras;  /* operations in a row that did not fit */
	bool unexplained; /* something did not fit since the last look at the history */
	uint64_t step;    /* the current one; 0 before the first */
	uint32_t version; /* counts the patterns found: places of different patterns are not the same places */
};

struct steps_place {
	uint32_t place; /* position in the step or STEPS_NO_PLACE */
	uint64_t step;
};

/* The next operation of the process. Returns true when it brought a period to light, or a longer one than that of the
 * layers: then steps_entry_place() says the places of the operations in `history` anew, until the next call. */
bool steps_add(struct steps *steps, uint32_t signature, uint64_t ticket, struct steps_place *place);
struct steps_place steps_entry_place(const struct steps *steps, uint32_t entry);
void steps_free(struct steps *steps);

#endif
