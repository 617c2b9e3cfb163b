/* SPDX-License-Identifier: MIT */
/*
 * Who waits for whom in the birth of a communicator, where NCCL has not told anything yet: docs/analysis.md, "Init". Only
 * of a communicator of the launcher's whole world is it known who is missing: the world's other ranks.
 */
#ifndef ANALYSIS_BIRTHS_H
#define ANALYSIS_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/job.h"

#define BIRTH_STOPPED_NS 3000000000u
/* Ranks start one after the other, and load code and data before they meet. */
#define BIRTH_AFTER_NS 10000000000u
/* Of a rank that nobody has seen it is not even known whether its launcher has started it. */
#define BIRTH_UNSEEN_NS UINT64_C(30000000000)
#define BIRTH_LOOK_NS  3000000000u /* what was seen longer ago than this is not known any more */

enum {
	BIRTHS_ABSENTEES = 32,
};

/* Its process has no black box, so that the job does not know it. */
struct absent_process {
	int32_t pid;
	uint32_t tid; /* the thread that is taken for the one that would make the communicator */
	struct process *process; /* with what its threads were seen to do; owned; NULL: nothing yet */
};

/* A missing rank as the caller saw it, or as its black box shows it. */
struct absentee {
	int32_t world_rank, pid;
	enum analysis_absence absence;
	const struct process *dead; /* its black box tells that it ended in this birth; NULL: what the caller saw holds */
	struct absent_process seen;
	uint64_t since_ns, seen_ns; /* it has been that at each look in between */
	bool told;
	enum rw_kind kind; /* as told */
	enum analysis_absence told_absence;
};

struct births {
	struct absentee absentees[BIRTHS_ABSENTEES];
	uint32_t count;
};

/* Ranks of the world that are missing in the oldest birth of the whole world, ascending; 0 none, or more than there
 * are waiting: those are early. */
size_t births_missing(const struct job *job, int32_t *world_ranks, size_t room);
void births_note(struct births *births, const struct analysis_absentee *absentee, uint64_t now_ns);
/* The process of a missing rank, by its number of analysis_absent_process(), made at the first call; NULL: nobody waits for
 * it, or no process of it was seen, or there is no memory. */
struct process *births_process(struct births *births, analysis_process_id id);
/* Missing ranks whose processes were seen: as analysis_suspects(). */
size_t births_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);
void births_free(struct births *births);
/* Opens and closes findings. others_live: who is told to live does so at this moment. */
void births_tick(struct analysis *analysis, uint64_t now_ns, bool others_live);

#endif
