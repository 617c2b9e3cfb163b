/* SPDX-License-Identifier: MIT */
/*
 * What each rank's time went to, by row: one step of the job, or a few where steps are shorter than ROWS_LEAST_NS. As
 * long as steps are not known, or once they are known no longer, a row is as much time for all ranks. Once all ranks
 * have ended a row it is judged (analysis/numbers/row_judge.h). Times are in ns, on the clock of the host.
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
	ROWS_KEPT = 32,      /* a rank */
	ROWS_TOLD = 12,      /* newest late rows show what a lateness costs */
	ROWS_BEHIND = 3,     /* rows ahead is the job when it no longer waits for a rank that has not ended one */
	ROWS_LOST = 256,     /* times the operations of the row before: steps are numbered no longer */
	ROWS_OFF = 4,        /* by such a part of itself what repeats may become longer before rows are cut anew */
	ROWS_LEFT = 6,       /* rows that the tests of steps have for what single operations show */
	ROWS_COSTS_LESS = 4, /* who works so many times as much longer as it costs is reported with a cause only */
	ROWS_MOST = 4, /* of a host that is late as a whole all ranks but one in so many are found by themselves */
	ROWS_READ = 4, /* times as much as the reads of a row add up to is a lateness that the row shows by itself */
	ROWS_ALIKE = 8, /* ranks, at least, are compared where not all ranks of the job are seen */
	ROWS_FAIR = 3, /* times as much must a rank work longer as it saw operations end later or earlier than others */
};
#define ROWS_SHOWN_WHOLE 0.875        /* of a lateness that single operations show is nearly all */
#define ROWS_LITTLE      0.04         /* of the time, at least, is no consequence of waits that nobody sees */
#define ROWS_SHIFT_NS    1000000000   /* is what one operation counts, at most, of when a rank saw it end */
#define ROWS_UPDATE_NS   10000000000u /* after this time a finding is updated */
#define ROWS_LEAST_NS    100000000u   /* a row of steps lasts, at least */
#define ROWS_TIME_NS     500000000u   /* a row lasts, at least, while steps have no numbers */

struct operation;

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
	uint64_t before_ns;         /* how long rows of steps lasted before that; 0 not known */
	uint32_t group;             /* analysis/numbers/alike.h, in the row that was judged last */
	uint64_t told_ns;           /* its finding was made or changed then; 0: it has none */
};

struct rows {
	const struct job *job;
	struct rows_rank *ranks;
	uint32_t rank_count;
	bool numbered;         /* operations are known to belong to steps of the job */
	uint64_t steps;        /* that a row holds; 0: they are not known yet, and rows are as much time */
	uint64_t step_ns;      /* usual duration of a step; 0 not known */
	uint64_t next, newest; /* number of the row that is judged next, and of the newest */
	struct row_judge judge;
};

/* The rank's operations belong to this step of the job from now on, counted from 1; 0: to none that is known. */
void rows_begin_step(struct rows *rows, uint32_t rank, uint64_t step, uint64_t at_ns);
/* It spent so long; `part` as in the account, `inside`: in an operation. */
void rows_note(struct rows *rows, uint32_t rank, enum analysis_part part, bool inside, uint64_t from_ns,
	       uint64_t until_ns);
/* An operation at which own work of the rank ended, from_ns to until_ns, and when its host had launched it; launch_ns
 * 0: not known. */
void rows_note_launch(struct rows *rows, uint32_t rank, uint64_t from_ns, uint64_t launch_ns, uint64_t until_ns);
/* An operation that it ended. mean_ns: when all ranks saw it end, on average; 0 not known of all. */
void rows_note_operation(struct rows *rows, uint32_t rank, const struct operation *operation, uint64_t mean_ns);
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
	return number && rows->steps ? (number - 1) * rows->steps : 0;
}
/* Steps of a row; 1 while they are not known. */
static inline uint64_t rows_steps(const struct rows *rows)
{
	return rows->steps ? rows->steps : 1;
}
/* How long a row usually lasts. */
static inline uint64_t rows_last_ns(const struct rows *rows)
{
	if (rows->steps || rows->step_ns >= ROWS_TIME_NS)
		return rows_steps(rows) * rows->step_ns;
	return rows->step_ns ? (ROWS_TIME_NS + rows->step_ns - 1) / rows->step_ns * rows->step_ns : ROWS_TIME_NS;
}
/* What the rank was late by in a row, on average over its newest `count` rows that were judged; 0 where none was. */
uint64_t rows_late_ns(const struct rows *rows, uint32_t rank, uint32_t count);
/* Opens, updates and closes findings. After straggler_tick(): what that has found is not reported twice. */
void rows_tick(struct analysis *analysis, uint64_t now_ns);
void rows_free(struct rows *rows);

#endif
