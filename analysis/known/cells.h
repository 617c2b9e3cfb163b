/* SPDX-License-Identifier: MIT */
/*
 * How each rank spent its time, step by step, for display: a table of ranks × columns. A column is a step; as long as
 * no step is known, it is a second. The table is bounded: when it is full, the columns of its older half are merged in
 * pairs. So the newest columns are single steps, older ones 2, 4, 8 … steps. It also has the largest magnitudes of each
 * communicator.
 */
#ifndef ANALYSIS_KNOWN_CELLS_H
#define ANALYSIS_KNOWN_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CELLS_COLUMNS = 4096,       /* most columns, and … */
	CELLS_LIMIT = 48 << 20,     /* … most bytes; copies of the table elsewhere are not included */
	CELLS_COLUMNS_LEAST = 16,   /* fewest columns, however many ranks */
	CELLS_LINES = 64,           /* communicators with magnitudes */
};
#define CELLS_SECOND_NS 1000000000u

/* One rank in one column, milliseconds on its own clock. */
struct cell {
	float own_ms, wait_ms, transfer_ms, unseen_ms; /* as in struct account_parts */
	float lost_ms; /* time that the others waited for it, summed over them */
	uint32_t bad;  /* operations in which a scan saw NaN or Inf */
	uint32_t outside; /* operations without a place in the step */
};

/* Largest finite magnitudes that scans saw in one communicator in one column; 0: only zeros, or nothing was seen. */
struct cell_magnitude {
	float brought, result; /* in the inputs of its ranks, and in their results */
	uint32_t rank;         /* rank of the job with that input; UINT32_MAX: none */
};

struct column {
	uint64_t step, last_step; /* 0: none is known */
	uint64_t from_ns, until_ns;
	uint64_t changed; /* value of cells.changes at the column's last change */
	uint32_t rank_count;
	struct cell *cells; /* by rank of the job */
	uint32_t line_count;
	struct cell_magnitude *magnitudes; /* by line */
};

struct cells {
	struct column *columns; /* oldest first */
	size_t count, room;
	size_t bytes, limit; /* of the cells; limit 0: nothing is kept */
	uint64_t changes;    /* counts the changes */
	struct cells_line {
		uint64_t communicator;
		char name[96]; /* as findings call it, when it was last noted */
	} lines[CELLS_LINES];  /* in the order in which they were first scanned */
	uint32_t line_count;
	bool more_lines;       /* there are more communicators than these */
};

/* From now on cells are kept, in at most `limit` bytes. */
void cells_open(struct cells *cells, size_t limit);
/* The cell for that rank, step (0: not known) and time. `cells` may be NULL. Returns NULL where nothing is kept, or on
 * lack of memory. */
struct cell *cells_at(struct cells *cells, uint32_t rank, uint64_t step, uint64_t at_ns);
/* The same for a line of magnitudes; `line` is below line_count. */
struct cell_magnitude *cells_magnitude_at(struct cells *cells, uint32_t line, uint64_t step, uint64_t at_ns);
void cells_free(struct cells *cells);

#endif
