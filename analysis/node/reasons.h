/* SPDX-License-Identifier: MIT */
/*
 * Why one of this host's ranks is late, or does not come, where only others see that it is: who judges the whole job asks, and then its
 * threads are looked at, its longest stretches between operations are kept, and what they went to is answered. Nobody asks while all is
 * well, and then this does nothing. docs/messages.md, "Why".
 */
#ifndef ANALYSIS_NODE_REASONS_H
#define ANALYSIS_NODE_REASONS_H

#include "analysis/account.h"
#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

#define REASONS_FOR_NS   15000000000u /* behind the latest ask */
#define REASONS_EVERY_NS 2000000000u
#define REASONS_LONG     0.5 /* stretches of this share of the longest, and more, are those it was late in */
enum {
	REASONS_MAX = 16, /* ranks of this host that are asked for at a time */
	REASONS_STRETCHES = 64,
};

struct reason_stretch {
	uint64_t from_ns, until_ns;
	bool by_host; /* the GPU had nothing to do before its host launched at the end of it */
};

struct reason_asked {
	uint32_t rank; /* index */
	const struct process *process; /* never followed, as in struct roster_rank */
	analysis_process_id id;
	uint64_t until_ns, answer_ns;
	struct reason_stretch stretches[REASONS_STRETCHES]; /* the newest */
	uint32_t count;
	uint32_t tid; /* that launched last */
};

struct reasons {
	struct reason_asked asked[REASONS_MAX];
	uint32_t count;
};

struct analysis;

void reasons_ask(struct reasons *reasons, const struct job *job, const struct rw_message *message, uint64_t now_ns);
void reasons_note(struct reasons *reasons, const struct account_passage *passage);
void reasons_tick(struct reasons *reasons, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns);
/* As analysis_suspects(). */
size_t reasons_suspects(const struct reasons *reasons, const struct analysis *analysis, struct analysis_suspect *suspects, size_t room);

#endif
