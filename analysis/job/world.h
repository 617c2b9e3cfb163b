/* SPDX-License-Identifier: MIT */
/*
 * Hosts, ranks and communicators of a job as messages tell of them. Of each the newest is kept, by the number of its sender's batch,
 * in whatever order batches come. A later generation of the job begins with nothing; messages of an earlier one say nothing.
 */
#ifndef ANALYSIS_JOB_WORLD_H
#define ANALYSIS_JOB_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/finding.h>
#include <rankwatch/message.h>

#define WORLD_NONE UINT32_MAX
/* A host that lives sends every second: one of which nothing came for so long is silent, or for twice as long as it ever was lately while it
 * lived, where batches are lost on the way; but not longer than this. */
#define WORLD_SILENT_NS 6000000000u
#define WORLD_SILENT_MAX_NS 30000000000u

/* What comes beyond is ignored, and counted. */
enum {
	WORLD_HOSTS = 16384,
	WORLD_RANKS = 131072,
	WORLD_COMMS = 131072,
	WORLD_MEMBERSHIPS = 64, /* of a rank */
	WORLD_CUTS = 8,         /* the newest of a member */
	WORLD_MARKS = 16,       /* the newest of a communicator */
	WORLD_FUNCTIONS = 6,    /* of a member's calls */
	WORLD_ORDERS = 3,       /* the newest hashes of a member's calls */
	WORLD_PLACES = 8,       /* the newest places of which a communicator's members have told hashes */
	WORLD_RESULTS = 4,      /* the newest rows of a member's results, and those of a communicator */
};

/* A sender: the collector of one host. */
struct world_host {
	char name[64];
	uint8_t boot[16];
	uint64_t start, former; /* its number, and that of the one before it on this host; 0 none */
	uint16_t epoch;         /* counts them, from 1 */
	uint64_t next, taken;   /* number behind the newest batch, and how many have come, of this one */
	uint64_t unsent;
	uint64_t heard_ns;
	uint64_t pause_ns;      /* the longest between two batches; older ones count less and less */
	bool ended;             /* in order */
	uint32_t ranks;
};

struct world_flight {
	uint64_t sequence, count;
	uint64_t since_ns, heard_ns; /* by the reader's clock; heard 0: none */
	uint64_t number;
	int32_t peer_or_root;
	uint8_t function, dtype, phase, flags;
};

/* Of one function. */
struct world_calls {
	uint64_t next, number;
	uint8_t function; /* 0 none */
};

/* Where nothing moves: few ranks have one for long. */
struct world_standing {
	struct world_flight flight;
	struct world_calls calls[WORLD_FUNCTIONS];
};

/* A hash of so many calls. */
struct world_order {
	uint64_t calls, hash; /* calls 0: none */
};

struct world_orders {
	struct world_order newest[WORLD_ORDERS];
};

struct world_place {
	uint64_t calls, hash; /* as the first member told it; calls 0: none */
	uint64_t parted_ns;   /* when another hash of it came, 0 none has */
};

/* Digests of a row of results. */
struct world_result {
	uint64_t row, set, digests;
	uint8_t function; /* 0 none */
};

struct world_results {
	struct world_result newest[WORLD_RESULTS];
	uint32_t count; /* so far */
};

/* A row of results that must be the same on all members that tell of the same ones. */
struct world_agreement {
	struct world_result first; /* as the first member told it */
	uint32_t operations;
	uint64_t parted_ns; /* when other digests came, 0 none have */
	bool judged;
};

struct world_agreements {
	struct world_agreement newest[WORLD_RESULTS];
	uint32_t count; /* so far */
	uint32_t room;  /* members */
	struct world_results *results; /* as members */
	uint64_t parted_ns; /* when the first of all parted; 0 none has */
	bool unsure_told;   /* that results differ */
	bool told;          /* nothing more is to be told of it */
};

struct world_cut {
	uint64_t sequence;
	uint32_t own_us, inside_us, unseen_us, host_us, device_us, operations;
	uint32_t number; /* of its batch, the low bits */
	uint16_t epoch;
	uint8_t function; /* 0 none */
};

struct world_member {
	uint32_t rank;     /* world rank */
	int32_t comm_rank; /* -1 not told yet */
	bool left;
	uint64_t number, left_number;
	uint64_t cut_ns;   /* when its latest cut came */
	struct world_standing *standing; /* NULL none */
	struct world_orders *orders;     /* likewise */
	struct world_cut cuts[WORLD_CUTS];
};

/* An operation that some members were cut behind. */
struct world_mark {
	uint64_t sequence, first_ns;
	uint32_t members;
	uint8_t function; /* 0 none */
};

struct lane;
struct course;

struct world_comm {
	uint64_t id;
	int32_t size;  /* 0 not known */
	char name[20];
	bool sends;    /* its members may be stages of a pipeline */
	bool across;   /* no two members are of one pipeline: analysis/job/lanes.h */
	uint32_t index;
	struct world_member *members;
	uint32_t member_count, member_room, hosts; /* hosts: that its members are on */
	uint32_t standing; /* members that have told of flights */
	uint32_t period_ms; /* from one cut to the next, of late; 0 not known */
	uint64_t cut_ns;   /* when the latest cut came */
	struct world_mark marks[WORLD_MARKS];
	struct world_place places[WORLD_PLACES];
	uint32_t ordered;   /* members that have told of their order */
	uint64_t parted_ns; /* since when the calls of some differ; 0 they do not, as far as is known */
	uint64_t parting_looked_ns;
	bool parting_told;
	struct world_agreements *agreements; /* NULL none */
	struct lane *lane; /* NULL: not judged */
	bool chosen;       /* to have one */
};

struct world_membership {
	uint32_t comm, member; /* indexes */
};

/* What a rank's host has answered. */
struct world_reason {
	/* The pieces that have come so far of one answer: */
	uint64_t number;
	uint16_t have;
	char coming[RW_REASON_PIECES * RW_REASON_PIECE];
	/* The newest of which all have: */
	uint64_t heard_ns; /* 0 none */
	uint8_t class_, level, late_kind;
	char text[RW_REASON_PIECES * RW_REASON_PIECE + 1];
};

struct world_rank {
	uint32_t host;     /* index; WORLD_NONE: nothing is known of this rank */
	int32_t pid, world_size, exit_status;
	uint32_t watchdog_ms;
	bool told;         /* by a RW_MESSAGE_RANK */
	uint8_t life, sending;
	uint64_t life_ns;  /* since when, by the reader's clock */
	uint64_t number, why_number, finding_number;
	uint8_t gpu[16];
	/* What its threads do: */
	uint64_t why_ns;   /* when that came; 0 never */
	uint8_t progress, level, class_;
	char why[32];
	/* What its own node has found: bit 1 << kind of those open, from warning up. */
	uint8_t found_class;
	uint32_t found;
	char found_cause[24];
	struct world_membership *memberships;
	uint8_t membership_count, membership_room;
	bool late_told;    /* as late_ns */
	/* analysis/job/asks.h: when somebody wanted to know why last, and when its host was asked; 0 never. */
	uint64_t wanted_ns, asked_ns;
	struct world_reason *reason; /* NULL none */
	uint64_t late_ns;  /* analysis/job/late.h */
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
	uint32_t rank_room, rank_count; /* room, and how many are known */
	int32_t world_size;
	struct world_comm **comms;
	uint32_t comm_count, comm_room;
	uint32_t *slots; /* open addressing by id: index + 1 */
	uint32_t slot_count;
	uint64_t changes; /* of who is in which communicators, and where */
	uint64_t batches, messages, bad, ignored;
	struct course *course; /* hears of cuts; NULL: nobody looks */
};

/* Takes a batch that batch_refuse() has nothing against. 0 or -ENOMEM. */
int world_take(struct world *world, const struct rw_batch *header, const void *bytes, uint64_t now_ns);
/* Is a message of this generation one of a later start of the job than all that is known? */
bool world_is_later(const struct world *world, uint16_t generation);
/* A start of the job begins: all but the hosts is forgotten. */
void world_begin(struct world *world, uint16_t generation);
void world_free(struct world *world);
size_t world_bytes(const struct world *world);
/* It has not ended in order, and nothing has come from it for long. */
bool world_is_silent(const struct world_host *host, uint64_t now_ns);
/* NULL: not known. */
struct world_rank *world_rank(const struct world *world, uint32_t rank);
struct world_member *world_member(const struct world *world, const struct world_comm *comm, uint32_t rank);
/* Of its rank's present sender; NULL: it was not cut there. */
const struct world_cut *world_cut(const struct world *world, const struct world_member *member, uint8_t function,
				  uint64_t sequence);

/* What the member has told of the same results; NULL: nothing, or not lately. */
const struct world_result *world_result(const struct world_comm *comm, const struct world_member *member, const struct world_result *like);

static inline struct world_host *world_host(const struct world *world, uint32_t rank)
{
	return &world->hosts[world->ranks[rank].host];
}

static inline struct world_comm *world_joined(const struct world *world, const struct world_rank *rank, uint32_t i)
{
	return world->comms[rank->memberships[i].comm];
}

#endif
