/* SPDX-License-Identifier: MIT */
/*
 * Where each rank's time went, whether or not anything is a fault: own work, waiting for other ranks, transfers, and
 * what nobody saw. Durations of one rank are taken on its own clock, as it saw its own GPU, and add up without a floor.
 * docs/analysis.md, "Where the time went". Times in ns.
 */
#ifndef ANALYSIS_ACCOUNT_H
#define ANALYSIS_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/cause.h"
#include "analysis/cells.h"
#include "analysis/instances.h"
#include "analysis/job.h"

/* Records of all ranks have come so long after what they tell of. */
#define ACCOUNT_LAG_NS 500000000u
/* A wait for one rank in one step that is told as one. */
#define ACCOUNT_TOLD_NS 20000000u
/* Of the job's time: what the summary speaks of, and names one rank for. */
#define ACCOUNT_SHARE_MIN 0.05
/* Of the job's time: so much that nobody saw may hide waits, so that what was seen of them is told as the least. */
#define ACCOUNT_UNSEEN_SHARE 0.01
/* With fewer steps it takes more. */
#define ACCOUNT_STEPS_MIN   20
#define ACCOUNT_SHORT_SHARE 0.1
/* So many times what is usual of a rank, or it stands out by chance. */
#define ACCOUNT_BEYOND 3

/* What a stretch of a rank's time went to; the sum is its length. */
struct account_parts {
	uint64_t own_ns;      /* between its operations: computation, or its host */
	uint64_t wait_ns;     /* in an operation that could not end before another rank had come to it */
	uint64_t transfer_ns; /* in an operation to which all had come */
	uint64_t unseen_ns;   /* nothing is known of, or an operation that some may leave early: never zero wait */
};

struct account_stretch {
	uint64_t step; /* 0 none */
	uint64_t from_ns, until_ns;
	struct account_parts parts;
};

/* One rank. */
struct account_rank {
	struct account_stretch whole, step, ended_step; /* all of it, the current step, and the one before */
	uint64_t ticket;                                /* newest operation that is accounted for */
	bool blind;                                     /* what came last has no end that is known */
	uint32_t left_root;              /* whom it waited for the last long time (JOB_NONE: nobody knows), … */
	uint64_t left_ns, left_until_ns; /* … how long, and until when; 0 never */
	/* As the one that is waited for, over all others: */
	uint64_t waited_ns;
	uint64_t late_step, late_ns; /* in this step */
	uint32_t late_steps;         /* in which others waited for it, as long as ACCOUNT_TOLD_NS or longer */
	uint64_t host_ns, device_ns; /* its own lateness in long ones: by whom */
	struct cause_window windows[CAUSE_WINDOWS]; /* latest long ones of its host, as in struct suspect */
	uint32_t window_count, window_tid;
};

struct account_entry {
	struct instance *instance;
	uint32_t serial;
};

/* What the time of one rank went to from the end of its operation before to that of this one; whatever the others did. */
struct account_passage {
	const struct instance *instance;
	uint32_t member;
	uint64_t from_ns;               /* it was accounted for up to then; 0 not before */
	uint64_t own_ns, unseen_ns;     /* before it came: one of them is 0 */
	uint64_t inside_ns;             /* of the operation, without what others have been charged for already */
};

/* Each operation with GPU times, in the order of its rank. */
typedef void account_visit_passage(void *argument, const struct account_passage *passage);

struct account {
	struct account_rank *ranks; /* by rank */
	uint32_t rank_count;
	struct account_entry *waiting; /* finished instances that are younger than the horizon */
	size_t waiting_count, waiting_room;
	uint64_t nobody_ns;             /* waits, over all ranks, of which is not known for whom */
	uint64_t left_out, untimed;     /* operations without times: their turn was not to have progress; all of them */
	uint64_t first_step, last_step; /* as they may be told; 0 none */
	analysis_time_visit *visit;     /* NULL: nobody watches */
	void *visit_argument;
	account_visit_passage *visit_passage; /* likewise */
	void *passage_argument;
	struct cells *cells;            /* the same step by step; NULL: nobody looks back */
	struct sums *sums;              /* the same window by window; NULL: nobody compares */
};

struct analysis;
struct sums;

/* A finished instance; without memory for it its time is unseen. */
void account_note(struct account *account, struct instance *instance);
/* Accounts for what is older than ACCOUNT_LAG_NS; for everything when the job is over. */
void account_tick(struct analysis *analysis, bool over, uint64_t now_ns);
void account_tell(const struct analysis *analysis, struct analysis_account *told);
void account_free(struct account *account);

static inline uint64_t account_sum(const struct account_parts *parts)
{
	return parts->own_ns + parts->wait_ns + parts->transfer_ns + parts->unseen_ns;
}

#endif
