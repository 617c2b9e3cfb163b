/* SPDX-License-Identifier: MIT */
/*
 * The host's ranks and the communicators that they share with other hosts, with what was said of each. Entries follow the
 * analysis's own: by index, checked by identity, so that a new life of the job begins with new ones.
 */
#ifndef ANALYSIS_NODE_ROSTER_H
#define ANALYSIS_NODE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/call_order.h"
#include "analysis/job.h"
#include "analysis/node/outbox.h"

/* What stays true is said again, for who came late or missed it: so long after the first time, twice as long after the second … */
#define ROSTER_FIRST_NS 2000000000u
#define ROSTER_AGAIN_NS 30000000000u /* … and so long at most */

/* What was said of something, and when. */
struct said {
	uint64_t hash, at_ns; /* 0 nothing */
	uint64_t pause_ns;    /* until it is said again */
};

struct roster_rank {
	const struct process *process; /* never followed: whose entry it is */
	analysis_process_id id;
	struct said said;
	/* Totals of the account since the entry was made: analysis/node/cuts.h. */
	uint64_t own_ns, inside_ns, unseen_ns, host_ns, device_ns;
	uint32_t operations;
	uint64_t why_ns; /* when it was last told what it does */
};

/* Where cuts of a communicator lie on one member. */
struct lane {
	uint8_t function; /* with RW_MESSAGE_APART; 0: none was seen yet */
	uint8_t shift;    /* at multiples of 2^shift of its operations */
	uint64_t last_ns; /* end of the last operation that was cut behind */
};

/* Of the order of its calls: analysis/node/orders.h. */
struct order_mark {
	struct call_mark mark; /* the newest that was taken */
	bool waits;            /* to be told */
	uint8_t shift;
	uint32_t looks;        /* that have shown no call that was not seen */
	uint64_t marked_ns;
};

/* Digests of a row of results: analysis/node/results.h. */
struct result_row {
	uint64_t row;        /* + 1; 0 none */
	uint64_t set, digests;
	uint32_t operations; /* that are in it */
	uint64_t seen[RW_RESULTS_ROW / 64]; /* which: a bit for each */
};

/* Of one function. */
struct result_rows {
	uint8_t function; /* with RW_MESSAGE_APART; 0: none */
	uint64_t last_ns; /* when the latest of it was scanned */
	struct result_row rows[2]; /* by row % 2: what is scanned late still counts */
};

struct roster_member {
	analysis_process_id id;
	bool known;
	struct said said;
	struct lane lane;
	struct order_mark mark;
	struct result_rows *results; /* RESULTS_FUNCTIONS of them; NULL none */
	uint64_t called;  /* calls of all functions when it was looked at last … */
	uint64_t moved_ns; /* … when they were fewer … */
	uint64_t calls_ns; /* … and when that was last told */
};

struct roster_comm {
	uint32_t index; /* of the analysis's communicator */
	uint64_t id;
	struct roster_member *members;
	uint32_t member_room;
};

struct roster {
	struct roster_rank *ranks;
	uint32_t rank_count;
	struct roster_comm *comms; /* by index, ascending */
	uint32_t comm_count, comm_room;
};

/* Do members on other hosts take part, or may they? */
bool roster_spans(const struct communicator *communicator);
/* Is its membership told? Of one that carries Send or Recv on a single host, too: stages of a pipeline are not alike. */
bool roster_is_told(const struct communicator *communicator);
/* The entry of a rank, of a member; NULL on lack of memory. */
struct roster_rank *roster_rank(struct roster *roster, const struct job *job, uint32_t rank);
struct roster_member *roster_member(struct roster *roster, const struct communicator *communicator, uint32_t member);
/* False: its number is not known, so that nothing can be said of it. */
bool roster_address(struct rw_message *message, const struct rank *rank, enum rw_message_type type);
/* Is it news (another hash), or time to say it again? Notes that it is said. */
bool roster_is_due_again(struct said *said, uint64_t hash, uint64_t now_ns);
bool roster_is_due(struct said *said, const void *bytes, size_t size, uint64_t now_ns);
/* Who is there: RW_MESSAGE_RANK and _MEMBER. */
void roster_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns);
void roster_free(struct roster *roster);

#endif
