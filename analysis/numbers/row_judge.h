/* SPDX-License-Identifier: MIT */
/*
 * Judges one row after the other, once the rows of all ranks are there: a host's own (analysis/late/rows.h), or those
 * that many hosts report (analysis/job/job_rows.h). It knows no ranks, only their indexes, and no clock.
 *
 * A rank is late in a row by what it works longer than the median of the others of its group, and is inside operations
 * less; the smaller of the two, signed. A stage of a pipeline whose ranks all work longer is late by what it works
 * longer than it used to, beyond what the other stages do. A host is late by what the middle one of its ranks is late
 * by: what makes all of them late stands out of the noise of each. analysis/numbers/late_series.h says whether that is
 * beyond chance. docs/analysis.md, "Late by step". It is not thread safe: one owner calls it.
 */
#ifndef ANALYSIS_NUMBERS_ROW_JUDGE_H
#define ANALYSIS_NUMBERS_ROW_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/numbers/late_series.h"

enum {
	ROW_JUDGE_CLEAN = 5,   /* rows in a row without lateness acquit */
	ROW_JUDGE_PAIRS = 1 << 19, /* of ranks that are compared in a row, at most: who may be late comes to it in a
				    * later one */
	ROW_JUDGE_HOSTS = 3,   /* hosts whose ranks are compared, at least, show that one of them is late … */
	ROW_JUDGE_OF_HOST = 4, /* … and so many of its ranks */
};
#define ROW_JUDGE_UNLIKE 0.0625 /* of what most make: who makes so many operations more or fewer does other work */
#define ROW_JUDGE_UNSEEN 0.02   /* of a row, or less, may be unseen */
#define ROW_JUDGE_KEEPS  0.9375 /* of the operations of a row count with the next one */

/* One rank in the row that is judged. */
struct row_entry {
	uint32_t rank; /* index */
	uint32_t
	    group; /* with which it is compared: the index of any rank of it, the same one for all and in all rows */
	uint32_t stage; /* likewise, of a pipeline */
	uint64_t own_ns, inside_ns, unseen_ns;
	uint64_t until_ns; /* when it ended it, on any clock; not 0 */
	uint32_t operations;
	bool ragged; /* it sees operations end at other times than most do: what it is late by little may be no work */
	/* What row_judge() says of it: */
	bool judged;      /* it was compared; else what follows is 0 */
	bool begins;      /* from this row on it is taken to be late */
	double late_ms;   /* signed; of a stage that is late, what this is late by */
	double beyond_ms; /* more than any other rank of its group that is not taken to be late; at least 0 */
};

struct row_judge_rank {
	uint64_t decided_ns; /* since then it is taken to be late; 0 it is not */
	double operations;   /* of its whole rows; each counts ROW_JUDGE_KEEPS of the next one … */
	double rows;         /* … and how many these are, counted likewise */
	uint32_t clean;      /* rows in a row in which it was not late */
	uint32_t stage;      /* in its latest row */
	bool of_stage;       /* it is late with its whole stage */
	bool of_host;        /* it is late with its whole host, and by itself it is not known to be */
	bool of_level;       /* it is late by as much in all of its newest rows … */
	uint64_t level_ns;   /* … and was found so then */
};

/* A stage of a pipeline, by its number. */
struct row_judge_stage {
	double usual_ms;     /* of own work; 0 not known yet */
	double firsts_ms[5]; /* of which it is the median at first */
	uint32_t known;
	double late_ms; /* in the row that is judged; NAN not known */
	uint64_t decided_ns;
	uint32_t clean;
};

/* The ranks of one place (late_series_place()). */
struct row_judge_host {
	uint64_t decided_ns;
	uint32_t clean;
	double named_ms; /* what the latest of its ranks that are named was late by, in the newest LATE_SERIES_ROWS_MIN rows */
};

struct row_judge {
	struct row_judge_rank *ranks;
	struct row_judge_stage *stages;
	uint32_t count; /* of ranks and of stages */
	struct row_judge_host *hosts; /* by place */
	uint32_t host_room;
	bool mostly;    /* who is late now and then is left to other tests: to be of a level it must be so in most
			 * rows */
	struct late_series late, stages_late, hosts_late; /* by rank, by stage, by place */
	uint64_t pairs; /* that were compared in the row that is judged */
};

/* Room for so many ranks. false: there is no memory; those that were there are still. */
bool row_judge_has(struct row_judge *judge, uint32_t count);
/* The next row, of all ranks whose row is known; indexes below those that row_judge_has() was given. Changes their
 * order. row_ms: how long rows usually last; pipelined: stages are compared, too. On lack of memory nobody is judged in
 * it. */
void row_judge(struct row_judge *judge, struct row_entry *entries, uint32_t count, double row_ms, bool pipelined);
/* Is the host of this rank late as a whole? */
bool row_judge_is_host_late(const struct row_judge *judge, uint32_t rank);
/* Rows are cut anew and last so many times as long: what was seen holds in proportion. */
void row_judge_scale(struct row_judge *judge, double times);
/* Rows are cut anew: nothing that was seen holds, but who is taken to be late stays so. */
void row_judge_forget(struct row_judge *judge);
/* What a lateness must cost in a row to be one. */
static inline double row_judge_cost_ms(double row_ms)
{
	return LATE_SERIES_SHARE * row_ms;
}
void row_judge_free(struct row_judge *judge);

#endif
