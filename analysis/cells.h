/* SPDX-License-Identifier: MIT */
/*
 * Where each rank's time went, step by step, for those who look back: a table of ranks × columns. A column is a step, as long
 * as no step is known a second. Bounded: when the table is full, the columns of its older half are merged two by two, so that
 * the newest are single steps and older ones 2, 4, 8 …
 */
#ifndef ANALYSIS_CELLS_H
#define ANALYSIS_CELLS_H

#include <stddef.h>
#include <stdint.h>

enum {
	CELLS_COLUMNS = 4096,       /* at most, and … */
	CELLS_LIMIT = 48 << 20,     /* … so many bytes; tables of others that hold the same come on top */
	CELLS_COLUMNS_LEAST = 16,   /* however many ranks */
};
#define CELLS_SECOND_NS 1000000000u

/* One rank in one column, milliseconds on its own clock. */
struct cell {
	float own_ms, wait_ms, transfer_ms, unseen_ms; /* as in struct account_parts */
	float lost_ms; /* that the others waited for it, summed over them */
	uint32_t bad;  /* operations of which a scan saw NaN or Inf */
};

struct column {
	uint64_t step, last_step; /* 0: none is known */
	uint64_t from_ns, until_ns;
	uint64_t changed; /* cells.changes when it last got something */
	uint32_t rank_count;
	struct cell *cells; /* by rank of the job */
};

struct cells {
	struct column *columns; /* oldest first */
	size_t count, room;
	size_t bytes, limit; /* of the cells; limit 0: nothing is kept */
	uint64_t changes;    /* counts what was noted */
};

void cells_open(struct cells *cells, size_t limit);
/* The cell in which that belongs; step 0: not known. Accepts NULL. NULL: nothing is kept, or no memory. */
struct cell *cells_at(struct cells *cells, uint32_t rank, uint64_t step, uint64_t at_ns);
void cells_free(struct cells *cells);

#endif
