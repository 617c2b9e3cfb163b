/* SPDX-License-Identifier: MIT */
/*
 * How each rank of many hosts spent its time, second by second. It is computed from the rows that hosts report
 * (analysis/job/world.h) and from what compared ranks waited for each other (analysis/job/job_rows.h). It is for
 * display; nothing is judged by it. Seconds are of the reader's clock, counted back from when a row arrived, so they
 * may be some seconds late.
 */
#ifndef ANALYSIS_JOB_COURSE_H
#define ANALYSIS_JOB_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/known/cells.h"

struct world_row;

struct course_rank {
	uint32_t place;   /* position in the order in which ranks were first heard of, from 1; 0: none yet */
	bool begun;       /* the totals up to its newest row follow: */
	uint16_t epoch;
	uint32_t own_us, inside_us, unseen_us;
	uint16_t operations;
	uint64_t charged_ns; /* up to when it was charged for the waits of others */
	uint32_t compared;   /* number of ranks in its latest comparison; 0: never compared */
	/* Sums so far: */
	uint64_t own_sum_us, inside_sum_us, unseen_sum_us, lost_sum_us, operation_sum;
};

struct course {
	struct course_rank *ranks; /* by world rank */
	uint32_t room;
	uint32_t *order; /* world ranks by place, as in the cells */
	uint32_t count, order_room;
	struct cells cells; /* wait_ms has all time inside operations; transfer_ms is not used */
};

/* How late one of the compared ranks was in a row. */
struct course_late {
	uint32_t rank;
	uint64_t late_us;
};

/* From now on the course keeps cells, in at most CELLS_LIMIT bytes. */
void course_open(struct course *course);
/* Gives the rank a place if it has none. False: no memory. */
bool course_add(struct course *course, uint32_t rank);
/* Takes the end of a row of a rank, as the sender with this epoch reports it; rows may come in any order. */
void course_note_row(struct course *course, uint32_t rank, const struct world_row *row, uint16_t epoch,
		     uint64_t now_ns);
/* Takes how late the members of one communicator were in a row between the two times. The wait of each member is
 * charged in equal parts to the members that were later than it. Sorts `late`. */
void course_charge(struct course *course, struct course_late *late, uint32_t count, uint64_t from_ns,
		   uint64_t until_ns);
/* From now on rows are of other processes: totals start again. Earlier cells and places are kept. */
void course_begin(struct course *course);
/* The entry of a rank; NULL: it has no place. The course owns it. */
const struct course_rank *course_rank(const struct course *course, uint32_t rank);
/* Memory that it uses. */
size_t course_bytes(const struct course *course);
void course_free(struct course *course);

#endif
