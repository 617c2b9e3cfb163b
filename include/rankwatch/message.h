/* SPDX-License-Identifier: MIT */
/*
 * Batches of messages in which a collector reports the ranks of its host, so that ranks of many hosts can be judged
 * together. docs/messages.md says how the messages are judged. All integers are little endian, as on x86-64 and
 * AArch64. This header only defines the layout; it has no code.
 *
 * Messages carry identities (job, generation, world rank, communicator), numbers that all ranks count in the same way,
 * durations and ages. They carry no pointer, no index of a table and no time of a host's clock.
 *
 * Messages may be lost, and may arrive in any order. So each message is complete in itself, sums are running totals of
 * which a reader takes the difference, and what stays true is sent again.
 */
#ifndef RANKWATCH_MESSAGE_H
#define RANKWATCH_MESSAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define RW_BATCH_MAGIC 0x424d5752u /* "RWMB" */

enum {
	RW_BATCH_VERSION = 1,
	RW_BATCH_MAX = 65536,  /* largest batch, bytes */
	RW_MESSAGE_SIZE = 48,  /* size of each message, bytes */
	RW_MESSAGE_AGE_MAX = INT32_MAX, /* ms: of this age, or older */
};

enum rw_batch_flag {
	RW_BATCH_LAST = 1u << 0, /* the sender ends regularly: its later silence means nothing */
};

/* The header of a batch; `count` messages follow it. A batch without messages says that the sender is alive. */
struct rw_batch {
	uint32_t magic;   /* RW_BATCH_MAGIC */
	uint16_t version; /* RW_BATCH_VERSION; a reader refuses any other */
	uint16_t flags;   /* enum rw_batch_flag */
	uint32_t count;   /* of messages; the batch is 192 + count × 48 bytes */
	uint32_t zero;
	uint64_t number; /* number of this sender's batch, from 0: a reader counts the batches that it misses */
	uint64_t start;  /* identifies the sender: another number each time the host's collector starts. All totals
			  * restart with it */
	uint64_t lost;   /* messages that this sender has had no room for so far */
	uint8_t boot[16]; /* the host's /proc/sys/kernel/random/boot_id; 0: not known */
	char host[64];    /* as in the black boxes of its ranks; host and job are 0-terminated */
	char job[64];
	uint8_t zeros[8];
};

enum rw_message_type {
	RW_MESSAGE_RANK = 1,    /* which process a rank is, and whether it is alive; at a change, 2 s, 4 s, 8 s … later,
				 * and every 30 s */
	RW_MESSAGE_MEMBER = 2,  /* the rank is in a communicator; sent as often as RANK */
	/* 3 is not used */
	RW_MESSAGE_FLIGHT = 4,  /* its oldest unfinished operation of each communicator, if that is older than a second;
				 * every second. Also, whatever its age, once its process has ended, in one batch with
				 * the RANK that says so */
	RW_MESSAGE_CALLS = 5,   /* how many calls it has made on a communicator, where nothing has moved for a second;
				 * and which calls they were, at sequence positions that all members pass */
	RW_MESSAGE_WHY = 6,     /* what a rank's threads do, if the rank has called nothing for two seconds; every two
				 * seconds */
	RW_MESSAGE_FINDING = 7, /* a finding of its own host's analysis about it; every two seconds while that is
				 * open */
	RW_MESSAGE_ASK = 8,     /* from the judge of the job to the rank's host: why is the rank late or missing? Every
				 * 5 s while it is. The answer is REASON, or ABSENT with RW_ASK_ABSENCE */
	RW_MESSAGE_REASON = 9,  /* a piece of the answer; every two seconds for 15 s after each ask */
	RW_MESSAGE_RESULTS = 10, /* digests of results that must be bitwise equal on all members of a communicator;
				  * every 256 operations */
	RW_MESSAGE_ASK_CALLS = 11, /* from the judge of the job to the rank's host: which calls has the rank made? When
				    * ranks have made different calls, until it is known which call differs */
	RW_MESSAGE_CALLED = 12, /* a piece of the answer: one call of the rank, and a hash of the calls up to it; once
				 * for each ask */
	RW_MESSAGE_INIT = 13,   /* the rank is in the init of a communicator, and has been for a second; every second */
	RW_MESSAGE_ABSENT = 14, /* the answer to a RW_MESSAGE_ASK with RW_ASK_ABSENCE: what the rank's process does;
				 * every second for 15 s after each ask */
	RW_MESSAGE_ROW = 15,    /* how the rank spent its time, up to the end of an operation that all members of a
				 * communicator share; each row */
	RW_MESSAGE_TYPES,
};

/* Set in a function: calls of it that NCCL does not announce, which the interposer numbers separately. */
#define RW_MESSAGE_APART 0x80u

enum rw_message_life {
	RW_MESSAGE_ALIVE = 0, /* the values of enum analysis_life: running */
	RW_MESSAGE_STOPPED = 1,
	RW_MESSAGE_EXITED = 2,
	RW_MESSAGE_KILLED = 3,
};

struct rw_message_rank {
	int32_t pid;         /* on its host */
	int32_t world_size;  /* from its launcher; -1 not known */
	uint32_t watchdog_ms; /* 0: no watchdog is known */
	int32_t exit_status; /* as from wait(2); -1 not known */
	uint32_t age_ms;     /* time since its life changed to this value */
	uint8_t life;        /* enum rw_message_life */
	uint8_t sending;     /* number of its communicators with RW_MESSAGE_SENDS; 255: or more. A reader that knows
			      * fewer lacks a MEMBER */
	int16_t local_rank; /* -1 not known */
	uint8_t gpu[16];    /* its UUID; 0 not known */
};

enum rw_message_member_flag {
	RW_MESSAGE_SENDS = 1u << 0, /* the communicator carries Send or Recv: its members may be stages of a pipeline */
	RW_MESSAGE_LEFT = 1u << 1,  /* the rank has ended its membership */
	RW_MESSAGE_MIXED = 1u << 3, /* NCCL gives several communicators this number, and which of them the rank is in is
				     * not known */
	/* NCCL's event mask was changed: operations of the rank that began since may not be recorded */
	RW_MESSAGE_MASKED = 1u << 4,
	RW_MESSAGE_UNFOLLOWED = 1u << 2, /* not all of the rank's transfers between two ranks are followed to their end
					  * there: it may be in one of which no FLIGHT is sent */
};

struct rw_message_member {
	uint64_t comm;      /* NCCL's number of the communicator, the same on all ranks; of several that NCCL gives one
			     * number, the number plus 0x9e3779b97f4a7c15 for each that the rank was in before */
	int32_t size;       /* number of ranks; 0: not known (NCCL before 2.27 does not report it) */
	int32_t comm_rank;  /* the rank's rank in the communicator */
	int32_t hosts;      /* number of hosts that it spans, as NCCL counts them; 0: not known */
	uint8_t flags;      /* enum rw_message_member_flag */
	char name[19];      /* NCCL's name, truncated to fit, 0-terminated */
};

/*
 * Running totals of the rank's time over all its communicators, in µs, and counts, modulo 2^32 where not said
 * otherwise. They run from some moment after the sender's start up to the end of a row on this rank: of the operation
 * of (comm, function of the message) whose number, counted from 1, is row × calls.
 *
 * The difference of two such messages is how the rank spent its time between the two operations. Such an operation ends
 * on all members at once, and its number is the same on all of them. So the same two rows divide the time of all
 * members alike, without a common clock.
 */
struct rw_message_row {
	uint64_t comm;
	uint32_t row;        /* its number, from 1 */
	uint32_t calls;      /* of the function in each row; a multiple of `steps` */
	uint32_t own_us;     /* time inside no operation: its computation, or its host; and inside, while its kernel
			      * waited for room on its GPU */
	uint32_t inside_us;  /* time inside operations: waits and transfers. The host's collector cannot separate the
			      * two where this is the host's only rank in the communicator; a reader that compares
			      * members can */
	uint32_t unseen_us;  /* time with unknown use: not followed, captured, lost. The three add up to the time
			      * between two rows */
	uint32_t host_us;    /* part of own_us: periods at whose end the host launched while the GPU was idle … */
	uint32_t device_us;  /* … and periods before whose beginning the host had launched, and waits for room */
	uint16_t operations; /* number of operations included, modulo 2^16 */
	uint16_t steps;      /* of each row: each step makes calls / steps of these operations. 0: steps are not
			      * known */
};

enum rw_message_flight_flag {
	RW_MESSAGE_ARRIVED = 1u << 0, /* its GPU has reached the operation, so it waits. Else its own stream may delay
				       * it */
	RW_MESSAGE_BY_HOST = 1u << 1, /* there is no GPU progress: ARRIVED means that its host has launched the
				       * operation */
	RW_MESSAGE_HOLDS = 1u << 2,   /* no rank can leave such an operation before all ranks have arrived */
	RW_MESSAGE_STILL = 1u << 3,   /* its GPU has begun and ended no operation of any communicator for two seconds */
	RW_MESSAGE_AWAITS = 1u << 4,  /* `awaits` is set */
	RW_MESSAGE_NO_OTHER_TRANSFER = 1u << 5, /* its GPU has reached no other transfer between two ranks on the
						 * communicator */
	RW_MESSAGE_BEHIND = 1u << 6,  /* not ARRIVED: its GPU may stand in an operation before that is not followed */
};

/* The function of a transfer between two ranks is RW_FUNCTION_SEND or RW_FUNCTION_RECV: which end of it the rank is.
 * Senders of before RW_MESSAGE_NO_OTHER_TRANSFER give RW_FUNCTION_SEND_RECV for both. */
struct rw_message_flight {
	uint64_t comm;
	uint64_t sequence;
	uint64_t count;    /* elements */
	uint32_t age_ms;   /* time since it arrived, or else since its launch, or else since its call */
	int32_t peer_or_root; /* rank in comm: the other end, or the root; -1: none */
	uint8_t dtype;     /* enum rw_dtype */
	uint8_t phase;     /* enum rw_phase: enqueued, connect, launched, running */
	uint8_t flags;     /* enum rw_message_flight_flag */
	uint8_t zero;
	int32_t awaits;    /* world rank of a member on the same host that lives and has not arrived there, as their
			    * host sees; else 0 */
};

/*
 * One message for each function that the rank has called on the communicator. With function 0 it is only about the
 * order of the calls, at a sequence position that the rank may have passed since; next and idle_ms are 0 then.
 *
 * The hash covers those collective calls that NCCL's profiler interface announces: function, size, type and root, where
 * they must agree (docs/messages.md, "Order"). Members with different hashes of their first `calls` calls have made
 * different calls.
 */
struct rw_message_calls {
	uint64_t comm;
	uint64_t next;      /* sequence number of its next call of the function */
	uint64_t calls;     /* number of calls, of all functions, in the hash; UINT64_MAX: some calls were not seen */
	uint64_t hash;      /* hash of the first `calls` calls in their order; 0: not known */
	uint32_t idle_ms;   /* time since its last call of any function on the communicator */
	uint32_t zero;
};

enum { RW_CALLED_MAX = 16, RW_CALLED_SHIFT_MAX = 40 };

/* Asks for the last call of each of the RW_CALLED_MAX stretches of 2^shift calls that follow the rank's first `from`
 * calls on the communicator. Calls are counted as in struct rw_message_calls. */
struct rw_message_ask_calls {
	uint64_t comm;
	uint64_t from;
	uint8_t shift; /* RW_CALLED_SHIFT_MAX at most */
	uint8_t zeros[23];
};

/* One message for each stretch that the rank has made whole; the function of the message is that of the call. With
 * function 0, index 0: the calls after the first `from` are not kept any more, or never were. */
struct rw_message_called {
	uint64_t comm;
	uint64_t count;    /* of the call: elements */
	uint64_t hash;     /* hash of the calls after the first `from`, up to this one, with the rules of struct
			    * rw_message_calls */
	uint32_t from;     /* as asked: the low 32 bits */
	uint32_t sequence; /* of the call: the low 32 bits */
	int32_t root;      /* rank in comm; -1: none */
	uint8_t shift;     /* as asked */
	uint8_t index;     /* of the stretch, from 0 */
	uint8_t dtype;     /* enum rw_dtype */
	uint8_t zero;
};

enum { RW_RESULTS_ROW = 256 };

/*
 * Covers those operations of (comm, function of the message) whose number divided by RW_RESULTS_ROW is `row`, and whose
 * result was scanned. Such an operation gives every rank the same bits. So members that report the same `set` must
 * report the same `digests`.
 */
struct rw_message_results {
	uint64_t comm;
	uint64_t row;
	uint64_t set;     /* identifies the operations: a sum over their hashed numbers */
	uint64_t digests; /* sum of the digests of their results (docs/scan.md), modulo 2^64 */
	uint32_t operations;
	uint32_t zero;
};

enum rw_message_progress { RW_MESSAGE_PROGRESS_UNKNOWN = 0, RW_MESSAGE_GETS_ON = 1, RW_MESSAGE_STANDS = 2 };

struct rw_message_why {
	uint32_t idle_ms; /* time since its last call */
	uint8_t progress; /* enum rw_message_progress */
	uint8_t level;    /* enum rw_level: with which access it was observed */
	uint8_t class_;   /* enum rw_cause_class */
	uint8_t zero;
	char text[32];    /* "fsync(2)"; 0-terminated */
};

struct rw_message_finding {
	uint8_t kind;       /* enum rw_kind */
	uint8_t state;      /* enum rw_finding_state */
	uint8_t severity;   /* enum rw_severity */
	uint8_t confidence; /* enum rw_confidence */
	uint8_t scope;      /* enum rw_scope */
	uint8_t class_;     /* enum rw_cause_class */
	uint8_t late_kind;  /* enum rw_late_kind */
	uint8_t zero;
	uint32_t lost_ppm;  /* share of the job's time that it costs; UINT32_MAX: not known */
	uint32_t age_ms;    /* time since it was first seen */
	char cause[24];     /* 0-terminated */
};

enum rw_ask_flag {
	RW_ASK_ABSENCE = 1u << 0, /* others wait for the rank in the init of a communicator. The judge may not know on
				   * which host it is */
	RW_ASK_HOST = 1u << 1, /* by its rows the rank is late by what it launched late while its GPU was idle: what
				* its GPU did otherwise is not asked for */
};

struct rw_message_ask {
	uint8_t flags;    /* enum rw_ask_flag */
	uint8_t zero;
	uint16_t splits;  /* with RW_ASK_ABSENCE: the split that the others are in, as in rw_message_init … */
	uint32_t parent;  /* … 0: it is the init of a communicator that is made of no other one, or the asker is an
			   * older one */
	uint8_t zeros[32];
};

/* The call (ncclCommInitRank and its kin) in which the rank waits for the other ranks of a communicator. NCCL has
 * reported nothing of it yet. */
struct rw_message_init {
	uint64_t init;        /* identifies the communicator, the same on all its ranks; not NCCL's number of it */
	int32_t size;         /* number of ranks */
	int32_t comm_rank;    /* the rank's rank in the communicator */
	int32_t world_size;   /* from the rank's launcher */
	int32_t pid;          /* on its host */
	uint32_t age_ms;      /* time since the call began */
	uint32_t watchdog_ms; /* that counts in an init; 0: none is known */
	uint8_t life;         /* enum rw_message_life: one that ended or was stopped there is told, too */
	uint8_t zero;
	uint16_t splits;      /* of a split: struct rw_communicator.splits of the parent as the rank counts them, the
			       * low 16 bits … */
	uint32_t parent;      /* … and rw_message_parent() of the parent; 0: of no split */
};

/* The communicator in a message that has no room for its id. */
static inline uint32_t rw_message_parent(uint64_t id)
{
	return (uint32_t)id ? (uint32_t)id : 1;
}

enum rw_message_absence {
	RW_MESSAGE_ABSENT_STOPPED = 1,
	RW_MESSAGE_ABSENT_IDLE = 2,
	RW_MESSAGE_ABSENT_BUSY = 3,
	RW_MESSAGE_ABSENT_PASSED = 4, /* it has been through the split that it was asked about, whatever it does now */
};

/* Sent only of a rank that has a process on the host, and waits neither in an init nor in an operation there. */
struct rw_message_absent {
	int32_t pid;     /* on its host */
	uint32_t age_ms; /* for how long it has been seen to do so */
	uint8_t absence; /* enum rw_message_absence */
	uint8_t level;   /* enum rw_level: with which access its threads were observed */
	uint8_t class_;  /* enum rw_cause_class: what one of them waits for */
	uint8_t of;      /* rw_message_split() of what was asked */
	char text[28];   /* "fsync(2)"; 0-terminated */
};

/* Which split a question and its answer are about, in one byte; 0: none. */
static inline uint8_t rw_message_split(uint32_t parent, uint16_t splits)
{
	return parent ? (uint8_t)(1 + (parent + splits) % 255) : 0;
}

enum { RW_REASON_PIECES = 12, RW_REASON_PIECE = 32 };

/* All pieces of an answer are in one batch. Their texts put together are the lines of the answer. The first line is the
 * cause, in few words, or empty. Each further line is one independent statement of what the host's collector knows
 * about that time. */
struct rw_message_reason {
	uint8_t class_;     /* enum rw_cause_class */
	uint8_t level;      /* enum rw_level: of the evidence for the cause, or else at which the rank was observed */
	uint8_t late_kind;  /* enum rw_late_kind */
	uint8_t pieces, piece; /* number of pieces, from 1, and the index of this one, from 0 */
	uint8_t zeros[3];
	char text[RW_REASON_PIECE]; /* the rest of the last piece is 0 */
};

struct rw_message {
	uint8_t type;        /* enum rw_message_type; readers skip unknown types */
	uint8_t function;    /* ROW, FLIGHT, CALLS, RESULTS, CALLED: enum rw_function, with RW_MESSAGE_APART; else 0 */
	uint16_t generation; /* of the job, as its launcher counts restarts: the low 16 bits */
	int32_t rank;        /* world rank */
	union {
		struct rw_message_rank of_rank;
		struct rw_message_member member;
		struct rw_message_row row;
		struct rw_message_flight flight;
		struct rw_message_calls calls;
		struct rw_message_why why;
		struct rw_message_finding finding;
		struct rw_message_reason reason;
		struct rw_message_results results;
		struct rw_message_ask_calls ask_calls;
		struct rw_message_called called;
		struct rw_message_ask ask;
		struct rw_message_init init;
		struct rw_message_absent absent;
		uint8_t bytes[40];
	};
};

static_assert(sizeof(struct rw_batch) == 192, "docs/messages.md");
static_assert(sizeof(struct rw_message) == RW_MESSAGE_SIZE, "docs/messages.md");
static_assert(sizeof(struct rw_message_rank) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_member) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_row) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_flight) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_calls) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_why) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_finding) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_reason) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_results) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_ask_calls) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_called) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_ask) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_init) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_absent) == 40, "docs/messages.md");

#endif
