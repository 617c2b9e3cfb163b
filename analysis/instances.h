/* SPDX-License-Identifier: MIT */
/*
 * Instances: the same collective on all its ranks, or one transfer between two. Key: communicator, function, sequence
 * (p2p: communicator, sender, receiver, sequence), and who counts: calls that only the interposer sees have numbers of
 * their own. A bounded pool; the oldest finished are forgotten first.
 */
#ifndef ANALYSIS_INSTANCES_H
#define ANALYSIS_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/job.h"
#include "analysis/steps.h"

enum {
	INSTANCES_MAX = 16384,              /* finished and unfinished together */
	INSTANCES_OPERATIONS_MAX = 1 << 19, /* over all of them */
};

enum operation_state {
	OPERATION_JOINED = 1 << 0,
	OPERATION_LAUNCHED = 1 << 1,
	OPERATION_STARTED = 1 << 2,  /* arrived: its stream reached it; without GPU times: launched */
	OPERATION_DONE = 1 << 3,     /* without GPU times: never set by itself */
	OPERATION_HOST = 1 << 4,     /* no GPU progress for it: the host rule holds */
	OPERATION_EXCLUDED = 1 << 5, /* untracked: never in flight, never late */
	OPERATION_SCANNING = 1 << 6, /* a result of its scan is still to come */
	OPERATION_INSIDE = 1 << 7,   /* not launched, and NCCL is known to be at work on it: it connects */
	OPERATION_UNKNOWN = 1 << 8,  /* returned without a launch, which may still come, or never */
	OPERATION_UNPARTED = 1 << 10, /* late, and which part of that is the host's is not known: when its GPU had ended what it had before was not seen */
	OPERATION_VEILED = 1 << 11, /* late, and directly before it the rank was in another group's operation of which nobody knows when it ended */
	OPERATION_APART = 1 << 9,    /* other ranks may have no GPU progress for it: its times are not compared with theirs */
};

/* One operation: what one rank did in an instance. */
struct operation {
	uint64_t ticket; /* 0 = not joined */
	uint64_t api_ns, launch_ns;
	uint64_t arrival_ns; /* valid with OPERATION_STARTED */
	uint64_t done_ns;
	uint64_t progress;
	uint32_t tid;
	/* Set by lateness_judge(), at most 71 minutes each: */
	uint32_t by_us;   /* after the median of the others */
	uint32_t late_us; /* of it: its own, not spent waiting for others elsewhere, and not counted before */
	uint32_t host_us; /* of by_us: the host launched late while its GPU had nothing to do; see OPERATION_UNPARTED */
	uint32_t work_us; /* from its last finished operation to its arrival; 0 not known */
	uint32_t idle_us; /* from its previous launch to its arrival; 0 not known */
	uint32_t own_us;  /* of by_us: not spent waiting for others elsewhere, whatever was counted before */
	uint16_t state;
	uint8_t flags; /* enum rw_flag, as far as they fit: in place, sampled out, unscannable */
};

/* A lateness that was mostly the host's. */
static inline bool operation_is_host_late(const struct operation *operation)
{
	return operation->host_us >= operation->by_us / 2;
}

struct instance {
	struct communicator *communicator;
	uint64_t sequence, count;
	uint64_t born_ns;       /* earliest enqueue */
	int32_t source, target; /* p2p: ranks of the communicator; -1 collective */
	int32_t root_or_peer;
	uint32_t serial; /* changes when the instance is forgotten */
	uint8_t function, dtype, algorithm, protocol;
	uint8_t reduction; /* enum rw_operator */
	bool finished, judged, accounted;
	bool unfollowed; /* once judged: some ranks had no GPU progress for it, its turn was not to have any; nobody was late there */
	bool by_interposer; /* numbered by it: ranks where it is not at work do not tell of it */
	uint32_t joined, started, done, excluded; /* operations that got that far */
	uint32_t lacking; /* a member that had no operation in it when it was last asked for one: analysis/completion.c */
	/* Place in the step, from the member that appeared first; JOB_NONE = no member's steps are known yet. */
	uint32_t place_member, steps_version;
	struct steps_place place;
	uint64_t start_ns;            /* last arrival, once judged */
	uint64_t median_ns;           /* arrival that lateness is counted from, once judged */
	struct operation *operations; /* by member of the communicator */
	uint32_t room;
	uint32_t value_room;
	struct value *values; /* what scans saw, by member; NULL = nothing was scanned */
	bool values_queued;   /* waits to be judged */
	bool corrupted;       /* a finding says so */
	bool drift_judged;
	uint32_t mark;        /* last walk that came by: analysis/upstream.h */
	struct instance *previous, *next; /* unfinished of the communicator, or finished of all in order of finishing */
};

/* What scans saw of one operation: analysis/values.h. */
struct value {
	struct rw_scan scans[2]; /* by enum value_side */
	uint64_t bytes[2];       /* count × type as this rank called it, the same */
	uint8_t known;           /* bit 1 << side */
	uint8_t judged, placed;  /* the same: was looked at; was counted at its place in the step */
	uint8_t excused;         /* the same: bad, and known to have harmed nothing: analysis/aftermath.h */
	uint8_t followed;        /* the same: its magnitude counted: analysis/drift.h */
	uint8_t noted;           /* the same: its magnitude is in the table of those who look: analysis/magnitudes.h */
};

struct instance_key {
	uint32_t communicator;
	uint8_t function;
	bool by_interposer;
	int32_t source, target;
	uint64_t sequence;
};

struct instances {
	struct instance **slots; /* open addressing by key */
	uint32_t slot_count, count;
	uint64_t operation_room; /* operations in all instances, used and free */
	uint64_t forgotten; /* that made room before all their ranks had ended them: nobody was judged by them */
	struct instance *finished_first, *finished_last;
	struct instance *free;
};

/* Existing or new; NULL on lack of memory, or when the pool is full of instances that were born later than born_ns. */
struct instance *instances_get(struct instances *instances, struct communicator *communicator,
			       const struct instance_key *key, uint64_t born_ns);
/* NULL: it was never made, or is forgotten. */
const struct instance *instances_find(const struct instances *instances, const struct instance_key *key);
/* Takes it out of the unfinished of its communicator; it stays known until the pool needs its place. */
void instances_finish(struct instances *instances, struct instance *instance);
/* All of the communicator. */
void instances_forget(struct instances *instances, struct communicator *communicator);
/* Operation of a member; grows with the communicator. NULL on lack of memory. */
struct operation *instance_operation(struct instances *instances, struct instance *instance, uint32_t member);
/* NULL when the member appeared after the instance or has not joined. */
const struct operation *instance_joined(const struct instance *instance, uint32_t member);
/* One replay of a captured call on all its ranks: analysis/replays.h. */
static inline bool instance_is_replay(const struct instance *instance)
{
	return instance->sequence & RW_CAPTURED_SEQUENCE;
}
/* Is its place one in a training step, for certain? */
bool instance_is_in_step(const struct instance *instance);
/* … or in what has repeated for longer than the layers of a model do? */
bool instance_is_regular(const struct instance *instance);
/* A step of the same count as it may be told; -1: not known. Its own: instance_step(). */
int64_t instance_told_step(const struct instance *instance, uint64_t step);
int64_t instance_step(const struct instance *instance);
bool instance_is_point_to_point(const struct instance *instance);
/* Can no rank end it before all have come to it? Not so with a root, where some leave when their data are buffered, nor of
 * replays, which tell no times. AllToAll as one call sends the same to all. */
bool instance_keeps_all(const struct instance *instance);
/* Does the instance need this member (p2p: one of the two)? */
bool instance_concerns(const struct instance *instance, uint32_t member);
/* Would this member's box tell that it has joined? Not where one rank counts by the interposer and another does not. */
bool instance_is_told(const struct instance *instance, uint32_t member);
/* Needed, would tell, and is not past this sequence: what makes it missing while it has not joined. */
bool instance_awaits(const struct instance *instance, uint32_t member);
/* Seen, needed, neither joined nor excused (ended, or already past this sequence). */
bool instance_lacks(const struct instance *instance, uint32_t member);
void instances_free(struct instances *instances);

#endif
