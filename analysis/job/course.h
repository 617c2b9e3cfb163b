/* SPDX-License-Identifier: MIT */
/*
 * What the time of each rank of many hosts went to, second by second, by the cuts that hosts tell of (analysis/job/world.h) and what those
 * who are compared waited for each other (analysis/job/lanes.h). For those who look; nothing is judged by it. Seconds are of the reader's
 * clock, counted back from when a cut came: they may be some seconds late.
 */
#ifndef ANALYSIS_JOB_COURSE_H
#define ANALYSIS_JOB_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cells.h"

struct world_cut;

struct course_rank {
	uint32_t place;   /* in the order in which ranks were heard of, from 1; 0: not yet */
	bool begun;       /* the totals up to its newest cut are these: */
	uint16_t epoch;
	uint32_t own_us, inside_us, unseen_us, operations, number; /* number: of the cut's batch, the low bits */
	uint64_t charged_ns; /* up to when it was charged for what others waited */
	uint32_t compared;   /* with it, so many ranks were; 0: never */
	/* So far: */
	uint64_t own_sum_us, inside_sum_us, unseen_sum_us, lost_sum_us, operation_sum;
};

struct course {
	struct course_rank *ranks; /* by world rank */
	uint32_t room;
	uint32_t *order; /* world ranks by place: the cells' */
	uint32_t count, order_room;
	struct cells cells; /* wait_ms: all time inside of operations; transfer_ms: none */
};

/* How late one of those was who were compared in a cut. */
struct course_late {
	uint32_t rank;
	uint64_t late_us;
};

/* From now on it keeps cells, in at most CELLS_LIMIT bytes. */
void course_open(struct course *course);
/* Of the rank there will be a place. False: no memory. */
bool course_add(struct course *course, uint32_t rank);
/* A cut of a rank has come, in any order. */
void course_note_cut(struct course *course, uint32_t rank, const struct world_cut *cut, uint64_t now_ns);
/* Members of one communicator were that late in a cut between the two times: what each was waited for is charged to the ranks that were
 * still later than who waited, in equal parts. Sorts them. */
void course_charge(struct course *course, struct course_late *late, uint32_t count, uint64_t from_ns, uint64_t until_ns);
/* What comes is of other processes: totals begin anew. What was keeps its place. */
void course_begin(struct course *course);
/* NULL: it has no place. */
const struct course_rank *course_rank(const struct course *course, uint32_t rank);
size_t course_bytes(const struct course *course);
void course_free(struct course *course);

#endif
