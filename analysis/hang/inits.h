/* SPDX-License-Identifier: MIT */
/*
 * Finds which ranks wait for which others in the init (ncclCommInitRank and its kin) of a communicator, about which
 * NCCL has not reported anything yet: docs/analysis.md, "Init". analysis/hang/gatherings.h knows which ranks are
 * missing.
 */
#ifndef ANALYSIS_HANG_INITS_H
#define ANALYSIS_HANG_INITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/explain/cause.h"
#include "analysis/known/job.h"

#define INIT_OBSERVED_NS 3000000000u /* an observation older than this is no longer used */
#define INIT_ASKED_NS 15000000000u   /* for how long a rank is looked for after it was asked for */

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
	const struct process *dead; /* its black box shows that it ended in this init; NULL: what the caller found
				     * holds */
	struct absent_process seen;
	uint64_t since_ns, seen_ns; /* it has been in this state at each look between these times */
	bool told;
	enum rw_kind kind; /* as reported */
	enum analysis_absence told_absence;
};

/* A rank that is missing where this host does not see it: analysis/node/init_reports.h. */
struct inits_asked {
	int32_t world_rank;
	uint16_t generation; /* of the job, as it was asked */
	uint16_t splits;     /* of the split that the others are in, and its parent, as in struct rw_message_ask */
	uint32_t parent;
	uint64_t until_ns;
};

struct inits {
	struct absentee absentees[INITS_ABSENTEES];
	uint32_t count;
	struct inits_asked asked[INITS_ABSENTEES];
	uint32_t asked_count;
	bool circle_told;
};

/* What this host can say of a rank that others ask about. */
struct inits_answer {
	int32_t world_rank, pid;
	uint16_t generation;           /* as it was asked */
	uint8_t of;                    /* which split it was asked about: rw_message_split() */
	bool passed;                   /* it has been through that; then the rest says nothing */
	enum analysis_absence absence; /* STOPPED, IDLE or BUSY … */
	uint64_t since_ns;             /* … at each look since then */
	const struct process *process; /* whose threads were seen; NULL: nobody's, and `cause` is not set */
	struct cause cause;
};

/* Others wait for this rank in an init, as is seen where all hosts are: whether it is on this one is still to be found
 * out. until_ns is not set. */
void inits_ask(struct inits *inits, const struct inits_asked *asked, uint64_t now_ns);
/* Fills in what is known of the ranks asked about that have a process on this host, and do not wait themselves. Returns
 * how many it has filled in. */
size_t inits_answers(const struct analysis *analysis, struct inits_answer answers[INITS_ABSENTEES], uint64_t now_ns);
/* Fills in the ranks for which others wait in an init, here or where it was asked for them, and which wait for nobody
 * themselves, ascending. Returns how many there are, which may be more than `room`. */
size_t inits_missing(const struct analysis *analysis, int32_t *world_ranks, size_t room);
/* Fills in the ranks that are missing in this init, or were when all processes had ended, ascending, as far as they are
 * known; also those that wait elsewhere. Returns how many it has filled in. */
size_t inits_missing_in(const struct job *job, uint64_t id, int32_t *world_ranks, size_t room);
/* Takes what the caller has found of a missing rank. */
void inits_note(struct inits *inits, const struct analysis_absentee *absentee, uint64_t now_ns);
/* The process of a missing rank, by its id of analysis_absent_process(), made at the first call. NULL: no rank waits
 * for it, or no process of it was seen, or there is no memory. */
struct process *inits_process(struct inits *inits, analysis_process_id id);
/* Like analysis_suspects(), for missing ranks whose processes were seen. */
size_t inits_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);
void inits_free(struct inits *inits);
/* Opens and closes findings. others_live: processes recorded as alive were verified to be alive at this moment. */
void inits_tick(struct analysis *analysis, uint64_t now_ns, bool others_live);

#endif
