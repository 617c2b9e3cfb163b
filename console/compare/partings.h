/* SPDX-License-Identifier: MIT */
/* Where two runs part: the first place of each kind on each communicator of each rank; equal ones of several ranks are
 * one. One thread. */
#ifndef CONSOLE_COMPARE_PARTINGS_H
#define CONSOLE_COMPARE_PARTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parting_kind {
	PARTING_CALLS,     /* order, function, count, type, root, reduction */
	PARTING_BAD,       /* NaN or Inf in one run alone */
	PARTING_MAGNITUDE, /* the largest values of three scans in a row */
	PARTING_BITS,      /* digests */
	PARTING_KINDS,
};

struct parting {
	enum parting_kind kind;
	char *where;      /* the communicator */
	char *in_a, *in_b;
	int32_t *ranks;   /* ascending, as they were added */
	size_t rank_count;
	uint64_t at_ns;   /* the earliest of them, from the rank's first call in run A */
	uint64_t before;  /* calls of the rank in run A before it, as far as its box goes back; the fewest of them */
	bool in_result;   /* of a value: in the result of the call, behind its input */
};

/* Zeroed = empty. */
struct partings {
	struct parting *list;
	size_t count, room;
};

/* Copies the texts. 0 or -ENOMEM. */
int partings_add(struct partings *partings, const struct parting *parting, int32_t rank);
/* By kind, the first in the order of the program first: clocks of ranks say less. */
void partings_order(struct partings *partings);
size_t partings_count(const struct partings *partings, enum parting_kind kind);
void partings_free(struct partings *partings);
/* "calls", "bad", "magnitudes", "bits" */
const char *parting_name(enum parting_kind kind);

#endif
