/* SPDX-License-Identifier: MIT */
/*
 * Finds which ranks wait for which others in the init (ncclCommInitRank and its kin) of a communicator, about which NCCL has not reported anything
 * yet: docs/analysis.md, "Init". analysis/gatherings.h knows which ranks are missing.
 */
#ifndef ANALYSIS_INITS_H
#define ANALYSIS_INITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/job.h"

#define INIT_STOPPED_NS 3000000000u
/* Ranks start one after the other, and load code and data before they meet. */
#define INIT_AFTER_NS 10000000000u
/* For a rank that was never seen, it is not even known whether its launcher has started it. */
#define INIT_UNSEEN_NS UINT64_C(30000000000)
#define INIT_OBSERVED_NS 3000000000u /* an observation older than this is no longer used */

enum {
	INITS_ABSENTEES = 32,
};

/* A process without a black box, which is therefore not in the job. */
struct absent_process {
	int32_t pid;
	uint32_t tid; /* the thread that is assumed to make the communicator */
	struct process *process; /* owned; has the evidence about its threads; NULL: none yet */
};

/* A missing rank, as the caller has found it or as its black box shows it. */
struct absentee {
	int32_t world_rank, pid;
	enum analysis_absence absence;
	const struct process *dead; /* its black box shows that it ended in this init; NULL: what the caller found holds */
	struct absent_process seen;
	uint64_t since_ns, seen_ns; /* it has been in this state at each look between these times */
	bool told;
	enum rw_kind kind; /* as reported */
	enum analysis_absence told_absence;
};

struct inits {
	struct absentee absentees[INITS_ABSENTEES];
	uint32_t count;
	bool circle_told; /* init_circle.h */
};

/* Fills in the ranks for which others wait in an init, and which wait for nobody themselves, ascending. Returns how many there are, which may be
 * more than `room`. */
size_t inits_missing(const struct job *job, int32_t *world_ranks, size_t room);
/* Fills in the ranks that are missing in this init, or were when all processes had ended, ascending, as far as they are known; also those that
 * wait elsewhere. Returns how many it has filled in. */
size_t inits_missing_in(const struct job *job, uint64_t id, int32_t *world_ranks, size_t room);
/* Takes what the caller has found of a missing rank. */
void inits_note(struct inits *inits, const struct analysis_absentee *absentee, uint64_t now_ns);
/* The process of a missing rank, by its id of analysis_absent_process(), made at the first call. NULL: no rank waits for it, or
 * no process of it was seen, or there is no memory. */
struct process *inits_process(struct inits *inits, analysis_process_id id);
/* Like analysis_suspects(), for missing ranks whose processes were seen. */
size_t inits_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);
void inits_free(struct inits *inits);
/* Opens and closes findings. others_live: processes recorded as alive were verified to be alive at this moment. */
void inits_tick(struct analysis *analysis, uint64_t now_ns, bool others_live);

#endif
