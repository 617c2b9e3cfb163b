/* SPDX-License-Identifier: MIT */
/*
 * How each rank spent its time, with or without a fault: own work, waiting for other ranks, transfers, and unseen time.
 * Durations of one rank are taken on its own clock, as it saw its own GPU, and are added up without a lower threshold.
 * docs/summaries.md, "Where the time went". Times are in ns.
 */
#ifndef ANALYSIS_MATCH_ACCOUNT_H
#define ANALYSIS_MATCH_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/explain/cause.h"
#include "analysis/known/cells.h"
#include "analysis/known/instances.h"
#include "analysis/known/job.h"

/* After this time the records of all ranks have arrived. */
#define ACCOUNT_LAG_NS 500000000u
/* Least wait for one rank in one step that counts as such. */
#define ACCOUNT_TOLD_NS 20000000u
/* Least share of the job's time that the summary mentions, and names one rank for. */
#define ACCOUNT_SHARE_MIN 0.05
/* This share of the job's time, if unseen, may hide waits, so that the waits seen are reported as a lower bound. */
#define ACCOUNT_UNSEEN_SHARE 0.01
/* With fewer steps than this, the least share is ACCOUNT_SHORT_SHARE. */
#define ACCOUNT_STEPS_MIN   20
#define ACCOUNT_SHORT_SHARE 0.1
/* A rank must exceed what is usual of a rank by this factor, or it is above it by chance. */
#define ACCOUNT_BEYOND 3

/* How a rank spent a stretch of time; the sum is the length of the stretch, less the time in which the job was
 * suspended. */
struct account_parts {
	uint64_t own_ns;      /* between its operations: computation, or its host */
	uint64_t wait_ns;     /* in an operation that could not end before another rank had arrived */
	uint64_t transfer_ns; /* in an operation in which all ranks had arrived */
	/* time with unknown use, or in an operation that some ranks may leave early: never counted as no wait */
	uint64_t unseen_ns;
};

struct account_stretch {
	uint64_t step; /* 0 none */
	uint64_t from_ns, until_ns;
	struct account_parts parts;
};

/* One rank. */
struct account_rank {
	struct account_stretch whole, step, ended_step; /* its whole time, the current step, and the step before */
	uint64_t ticket;                                /* newest operation that is accounted for */
	bool blind;                                     /* its latest operation has no known end */
	uint32_t left_root;              /* the rank for which it last waited long (JOB_NONE: not known), … */
	uint64_t left_ns, left_until_ns; /* … how long, and until when; 0 never */
	/* Waits of all others for it: */
	uint64_t waited_ns;
	uint64_t late_step, late_ns; /* in this step */
	uint32_t late_steps; /* number of steps in which others waited for it for ACCOUNT_TOLD_NS or longer, … */
	uint64_t late_steps_ns;      /* … and these waits of all of them */
	uint64_t host_ns, device_ns; /* its own lateness in long waits, by host or device */
	struct cause_window windows[CAUSE_WINDOWS]; /* latest long waits caused by its host, as in struct suspect */
	uint32_t window_count, window_tid;
};

struct account_entry {
	struct instance *instance;
	uint32_t serial;
};

/* How one rank spent its time from the end of its previous operation to the end of this one, whatever the others
 * did. */
struct account_passage {
	const struct instance *instance;
	uint32_t member;
	uint64_t from_ns;               /* its time was accounted for up to then; 0: not yet */
	uint64_t own_ns, unseen_ns;     /* before it arrived; one of them is 0 */
	/* inside the operation, without time for which others have already been charged */
	uint64_t inside_ns;
};

/* Called for each operation with GPU times, in the order of its rank's operations. */
typedef void account_visit_passage(void *argument, const struct account_passage *passage);

struct account {
	struct account_rank *ranks; /* by rank */
	uint32_t rank_count;
	struct account_entry *waiting; /* finished instances that are younger than the horizon */
	size_t waiting_count, waiting_room;
	uint64_t nobody_ns;             /* waits, over all ranks, of which it is not known for whom */
	uint64_t left_out, untimed;     /* operations without times: those that sampling left out, and all of them */
	uint64_t first_step, last_step; /* as reported; 0 none */
	uint64_t steps_before;          /* steps that were counted by other numbers before */
	bool marked;                    /* first_step and last_step are the program's numbers */
	analysis_time_visit *visit;     /* NULL: none is set */
	void *visit_argument;
	account_visit_passage *visit_passage; /* likewise */
	void *passage_argument;
	struct cells *cells;            /* the same by step; NULL: not kept */
	struct rows *rows;              /* the same by row; NULL: not kept */
};

struct analysis;
struct rows;

/* In how many steps the others waited for the rank for ACCOUNT_TOLD_NS or longer, up to now; *waits_ns: for how long,
 * all others together. */
uint32_t account_late_steps(const struct account *account, const struct account_rank *rank, uint64_t *waits_ns);
/* How many steps it is about; 0 not known. */
uint64_t account_steps(const struct account *account);
/* Takes a finished instance. On lack of memory its time is unseen. */
void account_note(struct account *account, struct instance *instance);
/* Accounts for instances older than ACCOUNT_LAG_NS; for all of them when the job is over. */
void account_tick(struct analysis *analysis, bool over, uint64_t now_ns);
void account_tell(const struct analysis *analysis, struct analysis_account *told);
void account_free(struct account *account);

static inline uint64_t account_sum(const struct account_parts *parts)
{
	return parts->own_ns + parts->wait_ns + parts->transfer_ns + parts->unseen_ns;
}

#endif
