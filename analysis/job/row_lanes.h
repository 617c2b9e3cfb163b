/* SPDX-License-Identifier: MIT */
/*
 * Compares the ranks of many hosts row by row (RW_MESSAGE_ROW), and finds who has become late for good. A rank is
 * compared in the largest of its communicators that spans hosts, of which no two members are stages of one pipeline.
 * How late a rank is in a row, and whether that is beyond chance, is judged as on one host (analysis/numbers/row_judge.h).
 *
 * Rows of a communicator have the same numbers on all hosts. A row is judged once all members have ended it, or have
 * had their time. Where the end of one has not come and a later one has, it is put between its neighbours. A rank of
 * which nothing is known is not judged in it. docs/messages.md, "Rows of time".
 */
#ifndef ANALYSIS_JOB_ROW_LANES_H
#define ANALYSIS_JOB_ROW_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/lanes.h"
#include "analysis/job/world.h"
#include "analysis/numbers/row_judge.h"

#define ROW_LANES_WAIT_NS 5000000000u /* waits so long for the messages of all members */
enum {
	ROW_LANES_TOLD = 12,    /* rows that the cost is told of */
	ROW_LANES_LENGTHS = 15, /* rows that show how long one usually lasts */
	ROW_LANES_BETWEEN = 8,  /* ends in a row that may be missing, at most */
	ROW_LANES_APART = 8,    /* rows that two communicators may be apart and be taken to count the same steps */
};

/* One rank in one row. */
struct row_lanes_row {
	float late_ms, lasted_ms, host_ms, device_ms;
};

/* A rank that was compared. */
struct row_lanes_rank {
	uint32_t comm;         /* index of that in which it was compared */
	uint32_t named;        /* the communicator that has its index for a group, + 1; 0: none has */
	uint64_t row, seen_ns; /* the newest in which it was compared, and when that was */
	uint64_t count;        /* of rows … */
	struct row_lanes_row rows[ROW_LANES_TOLD]; /* … by count */
};

/* Of a communicator. */
struct row_lane {
	uint8_t function;  /* whose calls end rows; 0: not known */
	uint32_t per_step; /* how many of them a step makes */
	uint64_t next;     /* its row that is judged next; 0: none yet */
	uint64_t passed;   /* the newest row that half of its members have ended … */
	uint64_t passed_ns[WORLD_ROWS]; /* … and when: by row % WORLD_ROWS */
	int64_t ahead;                  /* the number of a row among those of all communicators is so much larger */
	uint32_t running;               /* members that send rows */
	uint32_t group, stage;          /* as in struct row_entry */
	uint32_t compared;              /* members in the newest row */
	uint32_t lasted_us;             /* the newest row */
};

struct row_lanes {
	struct row_judge judge;
	struct row_lanes_rank *ranks; /* by index; struct world_rank has index + 1 */
	uint32_t count, room;
	uint32_t *chosen, chosen_count; /* indexes of the communicators in which ranks are compared … */
	uint64_t changes, looked_ns; /* … of what was known of the world when they were chosen, and when that was */
	uint64_t next;               /* number of the row that is judged next; 0: none yet */
	uint32_t steps;              /* of a row; 0: not known */
	double lengths_ms[ROW_LANES_LENGTHS], row_ms; /* of the newest rows, 0: not known; and their median */
	uint64_t rows, unaligned;                     /* that were judged, and ranks whose row had another length */
};

/* How late a rank is. */
struct row_lanes_view {
	bool late, of_stage;
	double recent;                      /* share of the newest LANES_RECENT rows, on average */
	double share;                       /* share of those of the newest ROW_LANES_TOLD rows in which it was late */
	double late_ms, host_ms, device_ms; /* sums of these */
	const struct world_comm *comm;      /* in which it was compared */
	const struct row_lane *lane;
};

/* Judges the rows that have come. Call it after lanes_tick(), which says what communicators are across pipelines. */
void row_lanes_tick(struct row_lanes *rows, struct world *world, uint64_t now_ns);
/* False: the rank was not compared for LANES_GONE_NS. */
bool row_lanes_look(const struct row_lanes *rows, const struct world *world, uint32_t rank, uint64_t now_ns,
		    struct row_lanes_view *view);
/* Whether the two ranks are late with the same stage. */
bool row_lanes_are_of_one_stage(const struct row_lanes *rows, const struct world *world, uint32_t one, uint32_t other);
size_t row_lanes_bytes(const struct row_lanes *rows, const struct world *world);
/* Frees all. Call it before the world's communicators are forgotten. */
void row_lanes_forget(struct row_lanes *rows, struct world *world);

#endif
