/* SPDX-License-Identifier: MIT */
/*
 * The hosts, ranks and communicators of a job, as messages report them. Of each kind of message the newest is kept, by
 * the number of its sender's batch, in whatever order batches arrive. A later generation of the job starts with an
 * empty world; messages of an earlier generation are ignored. The world owns everything that its functions return.
 */
#ifndef ANALYSIS_JOB_WORLD_H
#define ANALYSIS_JOB_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/finding.h>
#include <rankwatch/message.h>

#define WORLD_NONE UINT32_MAX
/* A live host sends every WORLD_BATCH_NS. A host is silent when nothing has come from it for WORLD_SILENT_NS or, if
 * that is longer because batches get lost on the way or come late, for twice its longest recent pause while it was
 * alive, and for once that and as many batches as are all lost with WORLD_SILENT_CHANCE, by the share that is lost of
 * its last 64; but for at most WORLD_SILENT_MAX_NS. */
#define WORLD_BATCH_NS 1000000000u
#define WORLD_SILENT_CHANCE 1e-5
#define WORLD_SILENT_NS 6000000000u
#define WORLD_SILENT_MAX_NS 30000000000u
/* What a host says when it is heard again was true while it could not be: a queue of batches comes at once. */
#define WORLD_BACK_NS 1000000000u
/* Longer than from one RANK of a host to the next. */
#define WORLD_STRANGER_NS 40000000000u
/* A former sender of a host that still sends so long after the next one has begun has not been replaced by it. */
#define WORLD_TWIN_NS 10000000000u

/* Bounds; messages beyond them are ignored, and counted. */
enum {
	WORLD_HOSTS = 16384,
	WORLD_RANKS = 131072,
	WORLD_COMMS = 131072,
	WORLD_MEMBERSHIPS = 64, /* communicators per rank */
	WORLD_ROWS = 32,        /* the newest ends of rows of a member */
	WORLD_FUNCTIONS = 6,    /* functions of a member's calls */
	WORLD_ORDERS = 3,       /* the newest hashes of a member's calls */
	WORLD_PLACES = 8,       /* the newest positions for which a communicator's members have reported hashes */
	WORLD_RESULTS = 4,      /* the newest rows of a member's results, and of a communicator's */
};

/* A sender: the collector of one host. */
struct world_host {
	char name[64];
	uint8_t boot[16];
	uint64_t start, former; /* the sender's start number, and that of the former sender on this host; 0 none */
	uint16_t epoch;         /* counts the host's senders, from 1 */
	uint64_t next, taken;   /* of this sender: the number after its newest batch, and how many batches have come */
	uint64_t came;          /* bit i: batch next - 1 - i has come */
	uint64_t unsent;
	uint64_t heard_ns;
	uint64_t excused_ns;    /* until when the reader could not hear it: analysis/job/hearing.h; 0: heard since */
	uint64_t back_ns;       /* when it was last heard again after it was silent, or excused; 0: never */
	uint64_t pause_ns;      /* longest pause between two batches; the weight of older ones decreases */
	bool ended;             /* it has ended regularly */
	bool restarted;         /* its present sender is of another start of the machine than the former one */
	bool refuted;           /* it was silent, and its ranks went on: analysis/job/silence.h */
	uint32_t ranks;
	/* analysis/job/strangers.h: whether it was in a communicator with a judged host; since when, and when last, it
	 * contradicted these; 0: never. */
	bool kin;
	uint64_t contradicts_ns, stranger_ns;
	uint64_t sender_ns;     /* when its present sender was first heard */
	bool twin, twin_said;   /* two senders of it send at once; that was said */
};

struct world_flight {
	uint64_t sequence, count;
	uint64_t since_ns, heard_ns; /* of the reader's clock; heard_ns 0: no flight */
	uint64_t number;
	int32_t peer_or_root;
	uint32_t awaits; /* a world rank that has not arrived there; WORLD_NONE: its host reports none */
	uint8_t function, dtype, phase, flags;
};

/* Calls of one function. */
struct world_calls {
	uint64_t next, number;
	uint8_t function; /* 0 none */
};

/* Kept only while nothing moves, so few ranks have it for long. */
struct world_standing {
	struct world_flight flight;
	struct world_calls calls[WORLD_FUNCTIONS];
};

/* The hash of the first `calls` calls. */
struct world_order {
	uint64_t calls, hash; /* calls 0: none */
};

struct world_orders {
	struct world_order newest[WORLD_ORDERS];
};

struct world_place {
	uint64_t calls, hash; /* as the first member reported it; calls 0: none */
	uint64_t parted_ns;   /* when a different hash came; 0: none has */
};

/* The digests of a row of results. */
struct world_result {
	uint64_t row, set, digests;
	uint8_t function; /* 0 none */
};

struct world_results {
	struct world_result newest[WORLD_RESULTS];
	uint32_t count; /* so far */
};

/* A row of results that must be equal on all members that report the same operations. */
struct world_agreement {
	struct world_result first; /* as the first member reported it */
	uint32_t operations;
	uint64_t parted_ns; /* when different digests came; 0: none have */
	bool judged;
};

struct world_agreements {
	struct world_agreement newest[WORLD_RESULTS];
	uint32_t count; /* so far */
	uint32_t room;  /* members */
	struct world_results *results; /* indexed like members */
	uint64_t parted_ns; /* when results differed for the first time; 0: never */
	bool unsure_told;   /* it was reported that results differ */
	bool told;          /* it has been reported: no further report */
};

/* The totals at the end of a row. */
struct world_row {
	uint64_t end; /* after so many calls of the function; 0 none */
	uint64_t came_ns;
	uint32_t own_us, inside_us, unseen_us, host_us, device_us;
	uint16_t operations;
	bool between; /* it did not come: it is put between its neighbours */
};

/* Of one sender; another one begins anew. */
struct world_rows {
	uint64_t number, came_ns; /* of the newest batch with one, and when that came */
	uint64_t newest;          /* the furthest end */
	uint64_t behind_ns;       /* so much later than a later one an end came, at most; the weight of older ones decreases */
	uint32_t calls, steps;    /* of a row, as that batch says; steps 0: not known */
	uint16_t epoch;
	uint8_t function;
	struct world_row kept[WORLD_ROWS];
};

struct world_member {
	uint32_t rank;     /* world rank */
	int32_t comm_rank; /* -1 not reported yet */
	bool left;
	bool unfollowed;   /* it may be in a transfer of which no flight is reported */
	uint64_t number, left_number;
	struct world_standing *standing; /* NULL none */
	struct world_orders *orders;     /* likewise */
	struct world_rows *rows;         /* likewise */
};

struct comm_rows;
struct course;
struct search;

struct world_comm {
	uint64_t id;
	int32_t size;  /* 0 not known */
	char name[20];
	bool sends;    /* its members may be stages of a pipeline */
	bool mixed;    /* may be several that NCCL gives one id: their calls and waits are not compared */
	bool across;   /* no two members are stages of one pipeline: analysis/job/pipelines.h */
	uint32_t index;
	struct world_member *members;
	uint32_t member_count, member_room, hosts; /* hosts: number of hosts of its members */
	uint32_t standing; /* number of members that have reported flights */
	uint32_t period_ms; /* recent time from one end of a row to the next; 0 not known */
	uint64_t row_ns;    /* when the latest row came … */
	uint64_t fresh_row_ns; /* … and the latest one that had not waited in a queue */
	struct world_place places[WORLD_PLACES];
	uint32_t ordered;   /* number of members that have reported their order … */
	uint32_t in_rows;   /* … and rows, … */
	uint32_t in_steps;  /* … of which the newest is of steps */
	uint64_t parted_ns; /* since when the calls of some differ; 0: no difference is known */
	uint64_t parting_looked_ns;
	bool parting_told;
	uint64_t parting_calls; /* it was reported by the hashes at this place; 0: not so */
	struct search *search; /* for the first call that differs; NULL none */
	struct world_agreements *agreements; /* NULL none */
	struct comm_rows *compared; /* analysis/job/job_rows.h; NULL: its members are not compared */
};

struct world_membership {
	uint32_t comm, member; /* indexes */
};

/* An answer of a rank's host. */
struct world_reason {
	/* The pieces of one answer that have arrived so far: */
	uint64_t number;
	uint16_t have;
	char coming[RW_REASON_PIECES * RW_REASON_PIECE];
	/* The newest complete answer: */
	uint64_t heard_ns; /* 0 none */
	uint8_t class_, level, late_kind;
	char text[RW_REASON_PIECES * RW_REASON_PIECE + 1];
};

/* What its host has last reported of the rank in the init of a communicator, and out of it, while others wait for it
 * there. */
struct world_birth {
	/* Of the init; since_ns and heard_ns of the reader's clock; heard_ns 0: never. */
	uint64_t id, since_ns, heard_ns, number;
	int32_t size, comm_rank, world_size;
	uint32_t watchdog_ms;
	uint8_t life;
	uint64_t absent_since_ns, absent_heard_ns, absent_number; /* likewise, of what it does out of it */
	uint32_t parent; /* of the init: as in struct rw_message_init */
	uint16_t splits;
	uint8_t absence, level, class_, of; /* of what it does out of it: as in struct rw_message_absent */
	char text[28];
};

struct world_rank {
	uint32_t host;     /* index into hosts; WORLD_NONE: nothing is known of this rank */
	int32_t pid, world_size, exit_status;
	uint32_t watchdog_ms;
	bool told;         /* it was reported by a RW_MESSAGE_RANK */
	bool only_seen;    /* its host has only seen a process of it (RW_MESSAGE_ABSENT): another one that has its black
			    * box is believed */
	uint8_t life, sending;
	uint64_t life_ns;  /* since when, on the reader's clock */
	uint64_t went_on_ns; /* when it last went on after it had been stopped; 0: never */
	uint64_t number, why_number, finding_number;
	uint8_t gpu[16];
	/* What its threads do: */
	uint64_t why_ns;   /* when that message came; 0: never */
	uint8_t progress, level, class_;
	char why[32];
	/* What its own host has found: `found` has bit 1 << kind for each open finding from warning up. */
	uint8_t found_class;
	uint32_t found;
	char found_cause[24];
	struct world_membership *memberships;
	uint8_t membership_count, membership_room;
	bool late_told;    /* see late_ns */
	/* analysis/job/asks.h: when an answer was last wanted, and when its host was last asked; 0: never. */
	uint64_t wanted_ns, asked_ns;
	bool wanted_of_host; /* only what its host did while its GPU was idle */
	uint64_t absence_wanted_ns; /* likewise: what it does while others wait for it in an init … */
	uint32_t wanted_parent;     /* … of a split: of which one, as in struct rw_message_ask */
	uint16_t wanted_splits;
	struct world_reason *reason; /* NULL none */
	struct world_birth *birth;   /* NULL: nothing of that was reported */
	uint64_t late_ns;  /* analysis/job/late.h */
	uint64_t adopted_ns; /* when its own host last had an open finding that it is late; 0: never */
	uint32_t row_index; /* analysis/job/job_rows.h */
};

struct world {
	char job[64];
	bool has_job;
	bool begun;
	uint16_t generation;
	struct world_host *hosts;
	uint32_t host_count, host_room;
	uint32_t *host_slots; /* open addressing by name: index + 1 */
	uint32_t host_slot_count;
	struct world_rank *ranks; /* by world rank */
	uint32_t rank_room, rank_count; /* allocated entries, and how many ranks are known */
	uint32_t birth_count; /* ranks that have a birth */
	int32_t world_size;
	struct world_comm **comms;
	uint32_t comm_count, comm_room;
	uint32_t *slots; /* open addressing by id: index + 1 */
	uint32_t slot_count;
	uint64_t in_rows; /* members that have reported rows */
	uint64_t changes; /* counts changes of which ranks are in which communicators, and on which hosts */
	uint64_t batches, messages, bad, ignored;
	uint64_t masked_ns;  /* when the first RW_MESSAGE_MASKED was heard; 0: never */
	uint64_t heard_ns;   /* when anybody was last heard; 0: never */
	uint64_t excused_ns; /* when hosts were last excused (analysis/job/hearing.h); 0: never */
	uint64_t begun_ns;   /* when its generation began */
	uint32_t twins;      /* hosts with two senders of which that was not said yet */
	struct course *course; /* gets each row; NULL: the course is not kept */
};

/* Takes a batch that batch_refuse() does not refuse. Nothing of `bytes` is kept. Returns 0 or -ENOMEM. */
int world_take(struct world *world, const struct rw_batch *header, const void *bytes, uint64_t now_ns);
/* Whether this generation is a later start of the job than that which the world has. */
bool world_is_later(const struct world *world, uint16_t generation);
/* Begins a generation of the job: everything but the hosts is forgotten. */
void world_begin(struct world *world, uint16_t generation, uint64_t now_ns);
void world_free(struct world *world);
/* Memory that it uses. */
size_t world_bytes(const struct world *world);
/* Notes that it is wanted to know what a rank does for which others wait in this init. It may be unknown on which host
 * that is. Of several inits at one moment the first one counts. */
void world_want_absence(struct world *world, uint32_t rank, const struct world_birth *birth, uint64_t now_ns);
/* Whether the host has not ended regularly, and nothing has come from it for long (WORLD_SILENT_NS); for
 * WORLD_SILENT_MAX_NS, where the reader could not hear it until lately. */
bool world_is_silent(const struct world_host *host, uint64_t now_ns);
/* Whether the reader could not hear the host, and that one has still time to be heard again: nothing of it is known
 * now. */
bool world_is_awaited(const struct world_host *host, uint64_t now_ns);
/* Whether its messages are of another job of the same name (analysis/job/strangers.h): nothing of them is taken. */
bool world_is_stranger(const struct world_host *host, uint64_t now_ns);
/* The index of the host with this name; WORLD_NONE: nothing was heard of it yet. */
uint32_t world_known_host(const struct world *world, const char *name);
/* The communicator with this id; NULL: not known. */
const struct world_comm *world_comm(const struct world *world, uint64_t id);
/* Since when nothing has come from it, as far as the reader could hear. */
uint64_t world_silent_since(const struct world_host *host);
/* Whether the rank's process was reported to have ended. */
bool world_is_dead(const struct world_rank *rank);
/* Whether the rank takes part in nothing any more: its process has ended, or it has left all its communicators. */
bool world_has_left(const struct world *world, const struct world_rank *rank);
/* Whether its own host has named it: as one that hangs, has gone, or has parted from the others. */
bool world_is_named(const struct world_rank *rank);
/* Whether a rank of this host is named so: others of the host may wait for that one, and be missing elsewhere. */
bool world_is_explained(const struct world *world, uint32_t host);
/* The rank, or the communicator's member, with this world rank; NULL: not known. */
struct world_rank *world_rank(const struct world *world, uint32_t rank);
struct world_member *world_member(const struct world *world, const struct world_comm *comm, uint32_t rank);
/* Where a row ends after so many calls, as was reported, or as it was put there; NULL: nothing is known of it. */
struct world_row *world_row(const struct world_member *member, uint64_t end);
/* Its place for another end, the oldest one's if none is free; NULL: it is older than all that are kept. There are
 * rows. */
struct world_row *world_row_place(struct world_rows *rows, uint64_t end);

/* What the member has recently reported about the same results as `like`; NULL: nothing. */
const struct world_result *world_result(const struct world_comm *comm, const struct world_member *member,
					const struct world_result *like);

static inline struct world_host *world_host(const struct world *world, uint32_t rank)
{
	return &world->hosts[world->ranks[rank].host];
}

static inline struct world_comm *world_joined(const struct world *world, const struct world_rank *rank, uint32_t i)
{
	return world->comms[rank->memberships[i].comm];
}

#endif
