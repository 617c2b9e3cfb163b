/* SPDX-License-Identifier: MIT */
/*
 * Where each rank's time went, step by step, for those who look back: a table of ranks × columns. A column is a step, as long
 * as no step is known a second. Bounded: when the table is full, the columns of its older half are merged two by two, so that
 * the newest are single steps and older ones 2, 4, 8 … Beside them the largest magnitudes of each communicator.
 */
#ifndef ANALYSIS_CELLS_H
#define ANALYSIS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CELLS_COLUMNS = 4096,       /* at most, and … */
	CELLS_LIMIT = 48 << 20,     /* … so many bytes; tables of others that hold the same come on top */
	CELLS_COLUMNS_LEAST = 16,   /* however many ranks */
	CELLS_LINES = 64,           /* communicators with magnitudes */
};
#define CELLS_SECOND_NS 1000000000u

/* One rank in one column, milliseconds on its own clock. */
struct cell {
	float own_ms, wait_ms, transfer_ms, unseen_ms; /* as in struct account_parts */
	float lost_ms; /* that the others waited for it, summed over them */
	uint32_t bad;  /* operations of which a scan saw NaN or Inf */
	uint32_t outside; /* operations without a place in the step */
};

/* Largest finite magnitudes that scans saw in one communicator in one column; 0: nothing but zeros, or nothing at all. */
struct cell_magnitude {
	float brought, result; /* among what its ranks brought, and what they got */
	uint32_t rank;         /* of the job, that brought it; UINT32_MAX none did */
};

struct column {
	uint64_t step, last_step; /* 0: none is known */
	uint64_t from_ns, until_ns;
	uint64_t changed; /* cells.changes when it last got something */
	uint32_t rank_count;
	struct cell *cells; /* by rank of the job */
	uint32_t line_count;
	struct cell_magnitude *magnitudes; /* by line */
};

struct cells {
	struct column *columns; /* oldest first */
	size_t count, room;
	size_t bytes, limit; /* of the cells; limit 0: nothing is kept */
	uint64_t changes;    /* counts what was noted */
	struct cells_line {
		uint64_t communicator;
		char name[96]; /* as findings call it, when it was last noted */
	} lines[CELLS_LINES];  /* in the order in which they were first scanned */
	uint32_t line_count;
	bool more_lines;       /* there are more communicators than these */
};

void cells_open(struct cells *cells, size_t limit);
/* The cell in which that belongs; step 0: not known. Accepts NULL. NULL: nothing is kept, or no memory. */
struct cell *cells_at(struct cells *cells, uint32_t rank, uint64_t step, uint64_t at_ns);
/* The same for a line of magnitudes, which is below line_count. */
struct cell_magnitude *cells_magnitude_at(struct cells *cells, uint32_t line, uint64_t step, uint64_t at_ns);
void cells_free(struct cells *cells);

#endif
