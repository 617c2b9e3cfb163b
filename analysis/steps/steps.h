/* SPDX-License-Identifier: MIT */
/*
 * Where in the training step an operation is, from the sequence of operations of one process alone: the smallest
 * period that explains everything that recurs. Robust against operations that come once (checkpoint, evaluation,
 * warm-up): they have no place; and against operations that are left out: such a step counts. What repeats serves to
 * compare like with like even where it may be layers or micro-batches; it is told as a step only when it is known to be
 * one.
 *
 * Where the program itself says which step begins (analysis/steps/step_marks.h), nothing is looked for: its steps are
 * the steps.
 */
#ifndef ANALYSIS_STEPS_STEPS_H
#define ANALYSIS_STEPS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/steps/omission.h"
#include "analysis/steps/period.h"
#include "analysis/steps/step_marks.h"

#define STEPS_NO_PLACE UINT32_MAX
/* Operations of a process among which a step is looked for. */
#define STEPS_HISTORY_MAX 65536
/* So often in a row nothing but the period, of more than one operation: no model has so many layers, no step so many
 * passes. */
#define STEPS_CERTAIN_MIN 1024
/* Operations in a row: more than the layers of one pass, that call the same, have. */
#define STEPS_REGULAR_MIN 1024

struct steps_entry {
	uint64_t ticket;
	uint32_t position; /* from the start of the first step in the history; STEPS_NO_PLACE */
};

/* What is known of a pattern; each is more than the one before. */
enum steps_trust {
	STEPS_REPEAT,
	STEPS_REGULAR, /* they may be steps, and they are not layers: STEPS_REGULAR_MIN operations fitted in a row */
	STEPS_CERTAIN, /* they are steps, see analysis/steps/period.h */
};

struct steps {
	struct steps_entry *history; /* NULL while a period explains everything */
	uint32_t *signatures;        /* of the history */
	uint32_t history_count, history_room, next_check;
	uint64_t history_base; /* steps before the history */
	uint32_t *pattern;     /* signatures of one step; NULL while no period is known */
	uint32_t period, position;
	uint32_t skipped; /* operations before the first period: a step unlike the others may be among them */
	uint32_t extras;  /* operations in a row that did not fit */
	uint64_t fitting; /* operations in a row that did */
	bool unexplained; /* something did not fit since the last look at the history */
	enum steps_trust trust;
	bool ended; /* the pattern ends as a step does */
	struct period_tail tail;
	bool begun;     /* a step began since the pattern was found, and since then … */
	int64_t uneven; /* … so many more steps ended than were counted */
	struct omission omission;
	uint32_t resumed; /* steps in a row that lacked operations */
	bool guessed;     /* history_base counts periods that may not have been steps */
	bool uncounted;   /* steps have gone by that nobody counted: set it when the first operations were not seen */
	uint64_t step;    /* the current one; 0 before the first */
	uint32_t version; /* counts the patterns found: places of different patterns are not the same places */
	struct step_marks marks;
	bool marked; /* the program's marks say what a step is */
};

struct steps_place {
	uint32_t place; /* position in the step or STEPS_NO_PLACE */
	uint64_t step;
};

/* The next operation of the process; the signature's lowest bits are enum period_mark. Returns true when it brought a
 * period to light, or a longer one than that of the layers, or shows that operations were left out of a step: then
 * steps_entry_place() says the places of the operations in `history` anew, until the next call. */
bool steps_add(struct steps *steps, uint32_t signature, uint64_t ticket, struct steps_place *place);
struct steps_place steps_entry_place(const struct steps *steps, uint32_t entry);
/* The number of a step of the current version as it may be told: -1 when it may be layers or passes that are counted,
 * or some were not. */
int64_t steps_told(const struct steps *steps, uint64_t step);
/* A step mark of the box: the program's step `number` begins behind this ticket. */
void steps_mark(struct steps *steps, uint64_t number, uint64_t ticket, bool by_tag);
/* The program's number of the step that the operation with this ticket is in; -1: it does not number its steps, or not
 * then. */
int64_t steps_marked_number(const struct steps *steps, uint64_t ticket);
void steps_free(struct steps *steps);

#endif
