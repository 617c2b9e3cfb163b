/* SPDX-License-Identifier: MIT */
/*
 * The host's ranks and the communicators that they share with other hosts, with what was sent about each. Entries have
 * the indexes of the analysis's entries and are checked by identity, so that a new life of the job starts with new
 * entries.
 */
#ifndef ANALYSIS_NODE_ROSTER_H
#define ANALYSIS_NODE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/known/call_order.h"
#include "analysis/known/job.h"
#include "analysis/node/outbox.h"
#include "analysis/node/row_ends.h"

/* A message that stays true is sent again, for readers that started late or missed it: this long after the first time,
 * twice as long after the second time … */
#define ROSTER_FIRST_NS 2000000000u
#define ROSTER_AGAIN_NS 30000000000u /* … and after at most this long */

/* What was sent about something, and when. */
struct said {
	uint64_t hash, at_ns; /* 0: nothing was sent */
	uint64_t pause_ns;    /* time until it is sent again */
};

struct roster_rank {
	const struct process *process; /* never dereferenced: identifies whose entry it is */
	analysis_process_id id;
	struct said said;
	/* Totals of the account since the entry was made: analysis/node/row_reports.h. */
	uint64_t own_ns, inside_ns, unseen_ns, host_ns, device_ns;
	uint32_t operations;
	uint64_t why_ns; /* when a RW_MESSAGE_WHY about it was last sent */
	bool end_told;   /* where it stood when it ended was sent */
};

/* Mark of the order of a member's calls: analysis/node/orders.h. */
struct order_mark {
	struct call_mark mark; /* the newest that was taken */
	bool waits;            /* the mark is still to be sent */
	uint64_t told_ns;      /* when it was sent for the first time; 0: it was not, or a second time, too */
	uint8_t shift;
	uint32_t looks;        /* readings of the box in a row that have shown no unseen call */
	uint64_t fitted_ns;    /* when the shift was last fitted to how fast calls are made; 0: never … */
	uint64_t fitted_calls; /* … and how many had been made by then */
};

/* Digests of a row of results: analysis/node/results.h. */
struct result_row {
	uint64_t row;        /* number of the row + 1; 0 none */
	uint64_t set, digests;
	uint32_t operations; /* operations included */
	uint64_t seen[RW_RESULTS_ROW / 64]; /* which operations: a bit for each */
};

/* The rows of one function. */
struct result_rows {
	uint8_t function; /* with RW_MESSAGE_APART; 0: none */
	uint64_t last_ns; /* when its latest result was scanned */
	struct result_row rows[2]; /* by row % 2, so that late scans of the row before still count */
};

struct roster_member {
	analysis_process_id id;
	bool known;
	struct said said;
	struct row_ends row_ends;
	struct order_mark mark;
	struct result_rows *results; /* RESULTS_FUNCTIONS of them; NULL none */
	uint64_t called;  /* calls of all functions at the last look … */
	uint64_t moved_ns; /* … when the calls were last fewer … */
	uint64_t calls_ns; /* … and when they were last sent */
};

/* Whether the collector follows all transfers between two ranks that the member makes. */
bool roster_follows_transfers(const struct member *member);

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

/* Whether members on other hosts take part, or may take part. */
bool roster_spans(const struct communicator *communicator);
/* Whether its memberships are sent. They are for one host, too, if it carries Send or Recv: stages of a pipeline do
 * different work. */
bool roster_is_told(const struct communicator *communicator);
/* The entry of a rank or a member, made at the first call. The roster owns it. NULL on lack of memory. */
struct roster_rank *roster_rank(struct roster *roster, const struct job *job, uint32_t rank);
struct roster_member *roster_member(struct roster *roster, const struct communicator *communicator, uint32_t member);
/* Fills in type, generation and rank of a message. False: the rank's number is not known, so that nothing can be sent
 * about it. */
bool roster_address(struct rw_message *message, const struct rank *rank, enum rw_message_type type);
/* What messages say of times and of a process's life. */
uint32_t roster_ms_since(uint64_t since_ns, uint64_t now_ns);
uint8_t roster_life(const struct process *process);
/* Whether a message from the judge of the job is about this rank, in its present start of the job. */
bool roster_is_addressed(const struct rw_message *message, const struct rank *rank);
/* Whether a message is to be sent: its hash has changed, or it is time to send it again. If so, notes that it is sent.
 * roster_is_due() hashes `size` bytes. */
bool roster_is_due_again(struct said *said, uint64_t hash, uint64_t now_ns);
bool roster_is_due(struct said *said, const void *bytes, size_t size, uint64_t now_ns);
/* Queues the RW_MESSAGE_RANK and RW_MESSAGE_MEMBER messages that are due. */
void roster_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns);
void roster_free(struct roster *roster);

#endif
