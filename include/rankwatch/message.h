/* SPDX-License-Identifier: MIT */
/*
 * What a collector tells the rest of its job of the ranks of its host, so that ranks of many hosts can be judged together:
 * batches of messages. When each is sent and how it is judged: docs/messages.md. All integers little endian, as x86-64 and
 * AArch64 keep them. What crosses the line are identities (job, generation, world rank, communicator), numbers that all ranks
 * count alike, durations and ages: no pointer, no index of a table, no time of a host's clock. Nothing here executes.
 *
 * Messages may be lost, and come in any order: each says all it means, sums are running totals of which a reader takes the
 * difference, and what stays true is said again.
 */
#ifndef RANKWATCH_MESSAGE_H
#define RANKWATCH_MESSAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define RW_BATCH_MAGIC 0x424d5752u /* "RWMB" */

enum {
	RW_BATCH_VERSION = 1,
	RW_BATCH_MAX = 65536,  /* bytes of a batch, at most */
	RW_MESSAGE_SIZE = 48,  /* each */
	RW_MESSAGE_AGE_MAX = INT32_MAX, /* ms: so old, or older */
};

enum rw_batch_flag {
	RW_BATCH_LAST = 1u << 0, /* the sender ends in order: its silence from now on says nothing */
};

/* Then `count` messages. A batch of none says that the sender lives. */
struct rw_batch {
	uint32_t magic;   /* RW_BATCH_MAGIC */
	uint16_t version; /* RW_BATCH_VERSION; another one is not read */
	uint16_t flags;   /* enum rw_batch_flag */
	uint32_t count;   /* of messages; the batch is 192 + count × 48 bytes */
	uint32_t zero;
	uint64_t number; /* of this sender's batches, from 0: a reader counts those that it misses */
	uint64_t start;  /* which sender: another number each time that the host's collector starts. Totals begin anew with it */
	uint64_t lost;   /* messages that this sender had no room for, so far */
	uint8_t boot[16]; /* of the host: /proc/sys/kernel/random/boot_id; 0 not known */
	char host[64];    /* as in its ranks' black boxes; both with a 0 at the end */
	char job[64];
	uint8_t zeros[8];
};

enum rw_message_type {
	RW_MESSAGE_RANK = 1,    /* which process a rank is, and whether it lives; at a change, 2 s, 4 s, 8 s … later, and every 30 s */
	RW_MESSAGE_MEMBER = 2,  /* it is in a communicator; likewise */
	RW_MESSAGE_CUT = 3,     /* what its time went to, up to the end of an operation that all members of a communicator share */
	RW_MESSAGE_FLIGHT = 4,  /* its oldest unfinished operation of any communicator, older than a second; every second */
	RW_MESSAGE_CALLS = 5,   /* how far it has come with its calls on a communicator, where nothing has moved for a second; and which they
				 * were, at places that all members pass */
	RW_MESSAGE_WHY = 6,     /* what the threads of a rank do that has called nothing for two seconds; every two */
	RW_MESSAGE_FINDING = 7, /* what its node has found about it; likewise, while it is open */
	RW_MESSAGE_ASK = 8,     /* the other way, from who judges to the rank's host: why is it late, or does it not come? Every 5 s while so */
	RW_MESSAGE_REASON = 9,  /* a piece of the answer; every two seconds for 15 s behind each ask */
	RW_MESSAGE_RESULTS = 10, /* digests of results that must be the same bits on all members of a communicator; every 256 operations */
	RW_MESSAGE_TYPES,
};

/* Beside a function: calls of it that NCCL announces to nobody, which the interposer numbers apart. */
#define RW_MESSAGE_APART 0x80u

enum rw_message_life {
	RW_MESSAGE_ALIVE = 0, /* as enum analysis_life: running */
	RW_MESSAGE_STOPPED = 1,
	RW_MESSAGE_EXITED = 2,
	RW_MESSAGE_KILLED = 3,
};

struct rw_message_rank {
	int32_t pid;         /* on its host */
	int32_t world_size;  /* as its launcher says; -1 not known */
	uint32_t watchdog_ms; /* 0 none is known */
	int32_t exit_status; /* as wait(2) has it; -1 not known */
	uint32_t age_ms;     /* since its life became that */
	uint8_t life;        /* enum rw_message_life */
	uint8_t sending;     /* communicators with RW_MESSAGE_SENDS that it is in, 255: or more. Who knows of fewer lacks a MEMBER */
	int16_t local_rank; /* -1 not known */
	uint8_t gpu[16];    /* its UUID; 0 not known */
};

enum rw_message_member_flag {
	RW_MESSAGE_SENDS = 1u << 0, /* carries Send or Recv: its members may be stages of a pipeline */
	RW_MESSAGE_LEFT = 1u << 1,  /* it has ended there */
};

struct rw_message_member {
	uint64_t comm;      /* NCCL's number of it, the same on all ranks */
	int32_t size;       /* ranks; 0 not known (NCCL before 2.27 does not tell) */
	int32_t comm_rank;  /* its rank in it */
	int32_t hosts;      /* that it spans, as NCCL counts them; 0 not known */
	uint8_t flags;      /* enum rw_message_member_flag */
	char name[19];      /* NCCL's, as much of it as fits; with a 0 at the end */
};

/*
 * Running totals of the rank's time, over all its communicators, up to the end of operation (comm, function of the message,
 * sequence) on it, since some moment after its sender's start; µs and counts modulo 2^32. The difference of two is what its
 * time went to from one operation to the other, and as such an operation ends on all members at once, the same two cut the time
 * of all members alike, without a clock.
 */
struct rw_message_cut {
	uint64_t comm;
	uint64_t sequence;
	uint32_t own_us;    /* not inside of any operation: its computation, or its host */
	uint32_t inside_us; /* inside of operations: waits and transfers. Who is the only rank of its host in a communicator cannot
			     * tell these apart; whoever compares members can */
	uint32_t unseen_us; /* nobody knows: not followed, captured, lost. The three add up to the time between two cuts */
	uint32_t host_us;   /* of own_us: stretches at whose end the host launched with the GPU idle … */
	uint32_t device_us; /* … and stretches before whose beginning the host had launched */
	uint32_t operations; /* that are in it */
};

enum rw_message_flight_flag {
	RW_MESSAGE_ARRIVED = 1u << 0, /* its GPU has come to it: it waits. Else its own stream may hold it up */
	RW_MESSAGE_BY_HOST = 1u << 1, /* there is no GPU progress: its host has launched it */
	RW_MESSAGE_HOLDS = 1u << 2,   /* no rank can leave such an operation before all have come */
};

struct rw_message_flight {
	uint64_t comm;
	uint64_t sequence;
	uint64_t count;    /* elements */
	uint32_t age_ms;   /* since it arrived, or else was launched, or else called */
	int32_t peer_or_root; /* rank in comm; -1 none */
	uint8_t dtype;     /* enum rw_dtype */
	uint8_t phase;     /* enum rw_phase: enqueued, connect, launched, running */
	uint8_t flags;     /* enum rw_message_flight_flag */
	uint8_t zeros[5];
};

/*
 * For each function that it has called on the communicator; or, function 0, of the order of its calls alone, at a place that it may have
 * passed since: next and idle_ms are 0 then. The hash is of those collective calls that NCCL's profiler interface announces, of function,
 * size, type and root where they must agree (docs/messages.md, "Order"): members whose first `calls` differ in it have made other calls.
 */
struct rw_message_calls {
	uint64_t comm;
	uint64_t next;      /* sequence that its next call of the function will have */
	uint64_t calls;     /* of every function that are in the hash; UINT64_MAX: some were not seen */
	uint64_t hash;      /* of the first `calls` of them in their order; 0 not known */
	uint32_t idle_ms;   /* since it made the last call of any function on it */
	uint32_t zero;
};

enum { RW_RESULTS_ROW = 256 };

/*
 * Of those operations of (comm, function of the message) whose number divided by RW_RESULTS_ROW is `row`, and whose result was scanned.
 * The operation gives every rank the same bits, so members that tell the same `set` must tell the same `digests`.
 */
struct rw_message_results {
	uint64_t comm;
	uint64_t row;
	uint64_t set;     /* which operations they are: a sum over their numbers, mixed */
	uint64_t digests; /* sum of the digests of their results (docs/scan.md), modulo 2^64 */
	uint32_t operations;
	uint32_t zero;
};

enum rw_message_progress { RW_MESSAGE_PROGRESS_UNKNOWN = 0, RW_MESSAGE_GETS_ON = 1, RW_MESSAGE_STANDS = 2 };

struct rw_message_why {
	uint32_t idle_ms; /* since it called anything */
	uint8_t progress; /* enum rw_message_progress */
	uint8_t level;    /* enum rw_level: how it was seen */
	uint8_t class_;   /* enum rw_cause_class */
	uint8_t zero;
	char text[32];    /* "fsync(2)"; with a 0 at the end */
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
	uint32_t lost_ppm;  /* of the time, as it costs the job; UINT32_MAX not known */
	uint32_t age_ms;    /* since it was first seen */
	char cause[24];     /* with a 0 at the end */
};

enum { RW_REASON_PIECES = 12, RW_REASON_PIECE = 32 };

/* All pieces of an answer are in one batch. Their texts in a row are its lines: first the cause, in few words, or nothing; then what the
 * host's collector knows of that time, each to be read for itself. */
struct rw_message_reason {
	uint8_t class_;     /* enum rw_cause_class */
	uint8_t level;      /* enum rw_level: what the cause rests on, or else at which level the rank was looked at */
	uint8_t late_kind;  /* enum rw_late_kind */
	uint8_t pieces, piece; /* of how many, from 1 on, and which, from 0 on */
	uint8_t zeros[3];
	char text[RW_REASON_PIECE]; /* what is left of the last one is 0 */
};

struct rw_message {
	uint8_t type;        /* enum rw_message_type; others are passed over */
	uint8_t function;    /* CUT, FLIGHT, CALLS, RESULTS: enum rw_function, with RW_MESSAGE_APART; else 0 */
	uint16_t generation; /* of the job, as its launcher counts restarts: the low 16 bits */
	int32_t rank;        /* world rank */
	union {
		struct rw_message_rank of_rank;
		struct rw_message_member member;
		struct rw_message_cut cut;
		struct rw_message_flight flight;
		struct rw_message_calls calls;
		struct rw_message_why why;
		struct rw_message_finding finding;
		struct rw_message_reason reason;
		struct rw_message_results results;
		uint8_t bytes[40];
	};
};

static_assert(sizeof(struct rw_batch) == 192, "docs/messages.md");
static_assert(sizeof(struct rw_message) == RW_MESSAGE_SIZE, "docs/messages.md");
static_assert(sizeof(struct rw_message_rank) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_member) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_cut) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_flight) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_calls) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_why) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_finding) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_reason) == 40, "docs/messages.md");
static_assert(sizeof(struct rw_message_results) == 40, "docs/messages.md");

#endif
