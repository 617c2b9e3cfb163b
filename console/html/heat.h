/* SPDX-License-Identifier: MIT */
/*
 * Where every rank's time went over the time of the run: a table of ranks × buckets of time. When the run outgrows the
 * columns, neighbouring buckets are merged and all become twice as long. Times are ns on the clock of the run's first
 * host. One thread.
 */
#ifndef CONSOLE_HTML_HEAT_H
#define CONSOLE_HTML_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

enum heat_kind {
	HEAT_OWN,      /* outside of its operations */
	HEAT_WAIT,     /* in an operation, for another rank */
	HEAT_TRANSFER, /* in an operation to which all had come */
	HEAT_UNSEEN,
	HEAT_LATE, /* another rank waited for this one: the longest of these waits, beside the others */
	HEAT_OPEN, /* in an operation that had not ended at the end of the record */
	HEAT_KINDS,
};

/* No more of both together: a page stays small. */
#define HEAT_MOST UINT32_C(600000)
enum { HEAT_COLUMNS = 1024, HEAT_COLUMNS_MIN = 64 };
#define HEAT_FINEST_NS UINT64_C(5000000)

struct heat_row {
	int32_t world_rank; /* -1 not known */
	analysis_process_id process;
	uint64_t until_ns;             /* the newest stretch's end */
	uint64_t total_ns[HEAT_KINDS]; /* LATE: not counted */
	uint32_t *us[HEAT_KINDS];      /* by column */
};

/* Zeroed = empty. */
struct heat {
	struct heat_row *rows;
	uint32_t row_count;
	uint32_t columns; /* a power of two; 0 before heat_begin() */
	uint32_t used;    /* columns from the left that something is in */
	uint64_t from_ns, bucket_ns;
	bool no_memory;
};

/* ranks: how many rows there will be, about. from_ns: nothing before it is kept. */
void heat_begin(struct heat *heat, size_t ranks, uint64_t from_ns);
/* The row of that number, made where there is none yet; NULL without memory. */
struct heat_row *heat_row(struct heat *heat, uint32_t number);
/* Adds [from_ns, until_ns) to a row, and to its total. */
void heat_add(struct heat *heat, uint32_t number, enum heat_kind kind, uint64_t from_ns, uint64_t until_ns);
void heat_free(struct heat *heat);

#endif
