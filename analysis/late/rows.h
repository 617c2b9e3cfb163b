/* SPDX-License-Identifier: MIT */
/*
 * What each rank's time went to, by row: one step of the job, or a few where steps are shorter than ROWS_LEAST_NS. Once all
 * ranks have ended a row it is judged (analysis/numbers/row_judge.h). Times are in ns, on the clock of the host.
 * docs/analysis.md, "Late by step".
 */
#ifndef ANALYSIS_LATE_ROWS_H
#define ANALYSIS_LATE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/job.h"
#include "analysis/numbers/row_judge.h"

enum {
	ROWS_KEPT = 32,  /* a rank */
	ROWS_TOLD = 12,  /* that the cost is told of */
	ROWS_BEHIND = 3, /* rows ahead is the job when it no longer waits for a rank that has not ended one */
};
#define ROWS_LEAST_NS 100000000u /* a row lasts, at least */

struct operation;
struct sums_meeting;

struct row {
	uint64_t number; /* 0 none */
	uint64_t from_ns, until_ns;
	uint64_t own_ns, inside_ns, unseen_ns; /* waits and transfers are inside */
	uint64_t host_ns, device_ns; /* of own_ns: the host launched later than that; it had launched well before */
	uint64_t unlaunched_ns;      /* of own_ns: when the host launched is not known */
	uint64_t single_ns;          /* what single operations were seen late by */
	int64_t shift_ns;            /* how much later it saw operations end than all ranks did on average */
	uint32_t operations;
	double late_ms;   /* NAN: not judged */
	double beyond_ms; /* more than any other rank that is compared with it, and is not named; at least 0 */
};

struct rows_rank {
	struct row rows[ROWS_KEPT]; /* by number % ROWS_KEPT */
	uint64_t number;            /* of the one in progress; 0 none yet */
	uint64_t late_row;          /* the newest in which it was late */
	uint64_t since_row;         /* late without a break from this one on, when that was decided */
	uint64_t before_ns;         /* how long rows lasted before that; 0 not known */
};

struct rows {
	const struct job *job;
	struct rows_rank *ranks;
	uint32_t rank_count;
	uint64_t steps;        /* that a row holds; 0: how long they are is not known yet */
	uint64_t step_ns;      /* usual duration of a step */
	uint64_t next, newest; /* number of the row that is judged next, and of the newest */
	struct row_judge judge;
};

/* The rank's operations belong to this step of the job from now on, counted from 1; 0: to none that is known. */
void rows_begin_step(struct rows *rows, uint32_t rank, uint64_t step, uint64_t at_ns);
/* It spent so long; `part` as in the account, `inside`: in an operation. */
void rows_note(struct rows *rows, uint32_t rank, enum analysis_part part, bool inside, uint64_t from_ns,
	       uint64_t until_ns);
/* As sums_note_launch() and sums_note_operation(). */
void rows_note_launch(struct rows *rows, uint32_t rank, uint64_t from_ns, uint64_t launch_ns, uint64_t until_ns);
void rows_note_operation(struct rows *rows, uint32_t rank, const struct operation *operation,
			 const struct sums_meeting *meeting);
/* Steps usually take so long: rows that hold too many or too few are cut anew. 0 not known. */
void rows_fit(struct rows *rows, uint64_t step_ns);
/* Is the rank, or its stage, taken to be late? */
static inline bool rows_suspect(const struct rows *rows, uint32_t rank)
{
	return rank < rows->rank_count && rows->judge.ranks[rank].decided_ns;
}
/* Number of the step in which the row begins. */
static inline uint64_t rows_step(const struct rows *rows, uint64_t number)
{
	return number ? (number - 1) * rows->steps : 0;
}
/* How long a row usually lasts. */
static inline uint64_t rows_last_ns(const struct rows *rows)
{
	return rows->steps * rows->step_ns;
}
/* What the rank was late by in a step, on average over its newest `count` rows that were judged; 0 where none was. */
uint64_t rows_late_ns(const struct rows *rows, uint32_t rank, uint32_t count);
void rows_free(struct rows *rows);

#endif
