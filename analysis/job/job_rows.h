/* SPDX-License-Identifier: MIT */
/*
 * Compares the ranks of many hosts row by row (RW_MESSAGE_ROW), and finds who has become late for good. A rank is
 * compared in the largest of its communicators that spans hosts, of which no two members are stages of one pipeline.
 * How late a rank is in a row, and whether that is beyond chance, is judged as on one host
 * (analysis/numbers/row_judge.h).
 *
 * Rows of a communicator have the same numbers on all hosts. A row is judged once all members have ended it, or have
 * had their time. Where the end of one has not come and a later one has, it is put between its neighbours. A rank of
 * which nothing is known is not judged in it. docs/messages.md, "Rows of time".
 */
#ifndef ANALYSIS_JOB_JOB_ROWS_H
#define ANALYSIS_JOB_JOB_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/job_turns.h"
#include "analysis/job/world.h"
#include "analysis/numbers/row_judge.h"

#define JOB_ROWS_WAIT_NS   5000000000u  /* waits so long for the messages of all members */
#define JOB_ROWS_GONE_NS   30000000000u /* and four rows: a communicator that ends none for so long is not judged */
#define JOB_ROWS_LOOK_NS   10000000000u /* after this time it is looked again which communicators there are */
#define JOB_ROWS_OFTEN_MS  8000 /* while steps are not known, communicators whose rows last longer are not judged */
#define JOB_ROWS_UNEVEN    0.02 /* of the row: members that differ by so much in its length did not end it equally … */
#define JOB_ROWS_UNEVEN_US 30000u /* … unless by less than this */
#define JOB_ROWS_LIKE      3.0 /* where rows last so many times as long, or as short, as before, nothing seen holds */
#define JOB_ROWS_RAGGED    1.5 /* who sees rows end so many times as irregularly as most do may only seem late … */
#define JOB_ROWS_RAGGED_US 200 /* … unless by less than this */
enum {
	JOB_ROWS_TOLD = 12,    /* rows that the reported cost covers */
	JOB_ROWS_RECENT = 8,   /* newest rows that say how late a rank is now */
	JOB_ROWS_LENGTHS = 15, /* rows that show how long one usually lasts … */
	JOB_ROWS_FIRST = 3,    /* … and so many, how long they do where they are cut anew: these are not judged */
	JOB_ROWS_BETWEEN = 8,  /* ends in a row that may be missing, at most */
	JOB_ROWS_WHOLES = 64,  /* newest rows of which the times of all ranks together are kept */
	JOB_ROWS_APART = 8,    /* rows that two communicators may be apart and be taken to count the same steps */
};

/* One rank in one row. */
struct job_rows_row {
	float late_ms, lasted_ms;
	float host_ms, device_ms; /* of own work, longer than the median of those that it is compared with */
};

/* A rank that was compared. */
struct job_rows_rank {
	uint32_t number;       /* in the world */
	uint32_t comm;         /* index of that in which it was compared */
	uint32_t named;        /* the communicator that has its index for a group, + 1; 0: none has */
	uint64_t row, seen_ns; /* the newest in which it was compared, and when that was */
	float ragged_us;       /* how much its rows differ in length from those of others, on average; the weight of
				* older ones decreases */
	uint64_t count;        /* of rows … */
	struct job_rows_row rows[JOB_ROWS_TOLD]; /* … by count */
};

/* Of a communicator. */
struct comm_rows {
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

enum job_rows_time {
	JOB_ROWS_LEAST_INSIDE, /* of the rank that was inside operations least */
	JOB_ROWS_OWN,          /* own work of all ranks together */
	JOB_ROWS_LASTED,       /* how long it lasted, on average */
	JOB_ROWS_TIMES,
};

/* A row of which all ranks are known that are still there. */
struct job_rows_whole {
	double ms[JOB_ROWS_TIMES]; /* of a step, where rows are of steps: then rows of other lengths can be compared */
};

struct job_rows {
	struct row_judge judge;
	struct job_rows_rank *ranks; /* by index; struct world_rank has index + 1 */
	uint32_t count, room;
	uint32_t *chosen, chosen_count; /* indexes of the communicators in which ranks are compared … */
	uint64_t changes, looked_ns; /* … of what was known of the world when they were chosen, and when that was */
	uint64_t next;               /* number of the row that is judged next; 0: none yet */
	uint32_t steps;              /* of a row; 0: not known */
	bool in_steps;               /* rows are of steps; else of so many calls */
	double lengths_ms[JOB_ROWS_LENGTHS], row_ms; /* of the newest rows, 0: not known; and their median */
	double before_ms; /* how long rows lasted before they were cut anew; 0: what is known is of rows as now */
	struct job_rows_whole wholes[JOB_ROWS_WHOLES]; /* by number % JOB_ROWS_WHOLES, … */
	uint64_t whole_count; /* … of which there have been so many, all of the same ranks and of steps of as many calls; */
	uint32_t whole_ranks, whole_known; /* of how many ranks, and how many were known, with those that had left; */
	bool whole_new;       /* the newest has come in this tick */
	struct job_turns turns;
	uint64_t rows, unaligned;                     /* that were judged, and ranks whose row had another length */
};

/* How late a rank is. */
struct job_rows_view {
	bool late, of_stage;
	bool of_level;  /* late by as much in all rows */
	bool host_late; /* its host is, as a whole */
	double recent;                      /* share of the newest JOB_ROWS_RECENT rows, on average */
	double share;                       /* share of those of the newest JOB_ROWS_TOLD rows in which it was late */
	double late_ms, host_ms, device_ms; /* sums of these */
	const struct world_comm *comm;      /* in which it was compared */
	const struct comm_rows *state;
};

/* Of how many steps a row is; 1 where it is of so many calls. */
static inline uint32_t job_rows_steps(const struct job_rows *rows)
{
	return rows->steps ? rows->steps : 1;
}

/* Judges the rows that have come. */
void job_rows_tick(struct job_rows *rows, struct world *world, uint64_t now_ns);
/* False: the rank was not compared for JOB_ROWS_GONE_NS. */
bool job_rows_look(const struct job_rows *rows, const struct world *world, uint32_t rank, uint64_t now_ns,
		    struct job_rows_view *view);
/* By what share of the time a rank that was compared was late in the rows that show a level, on average. */
double job_rows_level(const struct job_rows *rows, const struct world *world, uint32_t rank);
/* Whether the two ranks are late with the same stage. */
bool job_rows_are_of_one_stage(const struct job_rows *rows, const struct world *world, uint32_t one, uint32_t other);
size_t job_rows_bytes(const struct job_rows *rows, const struct world *world);
/* Frees all. Call it before the world's communicators are forgotten. */
void job_rows_forget(struct job_rows *rows, struct world *world);

#endif
