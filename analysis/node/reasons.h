/* SPDX-License-Identifier: MIT */
/*
 * Answers why one of this host's ranks is late or missing, where only other hosts see that. The judge of the whole job
 * asks. From then on the rank's threads are sampled, its longest periods between operations are kept, and the answer
 * says how it spent them. Without such a request this does nothing. docs/messages.md, "Why".
 */
#ifndef ANALYSIS_NODE_REASONS_H
#define ANALYSIS_NODE_REASONS_H

#include "analysis/match/account.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define REASONS_FOR_NS   15000000000u /* how long it answers after the latest request */
#define REASONS_EVERY_NS 2000000000u
#define REASONS_LONG     0.5 /* it was late in the stretches with at least this share of the longest one's length */
enum {
	REASONS_MAX = 16, /* most ranks of this host that can be asked about at the same time */
	REASONS_STRETCHES = 64,
};

struct reason_stretch {
	uint64_t from_ns, until_ns;
	bool by_host; /* the GPU was idle before the host launched at the end of the stretch */
};

struct reason_asked {
	uint32_t rank; /* index */
	const struct process *process; /* never dereferenced, as in struct roster_rank */
	analysis_process_id id;
	uint64_t until_ns, answer_ns;
	bool of_host; /* it is late by its host: only stretches in which that launched late count */
	struct reason_stretch stretches[REASONS_STRETCHES]; /* the newest */
	uint32_t count;
	uint32_t tid; /* thread that launched last */
};

struct reasons {
	struct reason_asked asked[REASONS_MAX];
	uint32_t count;
};

struct analysis;

/* Takes a request: a RW_MESSAGE_ASK. */
void reasons_ask(struct reasons *reasons, const struct job *job, const struct rw_message *message, uint64_t now_ns);
/* Takes an operation that was accounted for: keeps the stretch before it where its rank is asked about. */
void reasons_note(struct reasons *reasons, const struct account_passage *passage);
/* Queues answers that are due, and forgets requests that have expired. */
void reasons_tick(struct reasons *reasons, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns);
/* Like analysis_suspects(), for the ranks that are asked about. */
size_t reasons_suspects(const struct reasons *reasons, const struct analysis *analysis,
			struct analysis_suspect *suspects, size_t room);

#endif
