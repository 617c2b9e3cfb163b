/* SPDX-License-Identifier: MIT */
/*
 * An instance is one collective on all its ranks, or one transfer between two ranks. Its key is communicator, function
 * and sequence (p2p: communicator, sender, receiver, sequence), and who numbers it: calls that only the interposer sees
 * have numbers of their own. The pool is bounded; the oldest finished instances are forgotten first.
 */
#ifndef ANALYSIS_KNOWN_INSTANCES_H
#define ANALYSIS_KNOWN_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/known/job.h"
#include "analysis/steps/steps.h"

enum {
	INSTANCES_MAX = 16384,              /* finished and unfinished together */
	INSTANCES_OPERATIONS_MAX = 1 << 19, /* over all of them */
};

enum operation_state {
	OPERATION_JOINED = 1 << 0,
	OPERATION_LAUNCHED = 1 << 1,
	OPERATION_STARTED = 1 << 2,  /* arrived: its stream reached it; without GPU times: launched */
	OPERATION_DONE = 1 << 3,     /* without GPU times: never set by itself */
	OPERATION_HOST = 1 << 4,     /* no GPU progress for it: the host rule applies */
	OPERATION_EXCLUDED = 1 << 5, /* untracked: never in flight, never late */
	OPERATION_SCANNING = 1 << 6, /* a result of its scan is still pending */
	OPERATION_INSIDE = 1 << 7,   /* not launched, but NCCL is known to work on it: it connects */
	OPERATION_UNKNOWN = 1 << 8,  /* returned without a launch, which may still come or not */
	/* Late, but the host's part is not known: it was not seen when its GPU had ended its earlier work. */
	OPERATION_HOST_PART_UNKNOWN = 1 << 10,
	/* Late, and directly before the rank was in another group's operation whose end is not known. */
	OPERATION_AFTER_UNKNOWN_END = 1 << 11,
	OPERATION_BEGAN = 1 << 13, /* NCCL has reported that its kernel began */
	OPERATION_KERNEL = 1 << 12, /* NCCL has reported the times of its kernel: analysis/known/kernel_start.h */
	/* other ranks may have no GPU progress for it: its times are not compared with theirs */
	OPERATION_APART = 1 << 9,
};

/* One operation: the part of one rank in an instance. */
struct operation {
	uint64_t ticket; /* 0 = not joined */
	uint64_t api_ns, launch_ns;
	uint64_t arrival_ns; /* valid with OPERATION_STARTED */
	uint64_t done_ns;
	uint64_t progress;
	uint32_t tid;
	/* Set by lateness_judge(), µs, at most 71 minutes each: */
	uint32_t by_us;   /* how long after the median of the others it arrived */
	uint32_t late_us; /* its own part of by_us: not spent waiting for others elsewhere, and not counted before */
	uint32_t host_us; /* of by_us: it launched late while its GPU was idle; see OPERATION_HOST_PART_UNKNOWN */
	uint32_t work_us; /* from its last finished operation to its arrival; 0 not known */
	uint32_t idle_us; /* from its previous launch to its arrival; 0 not known */
	/* part of by_us not spent waiting for others elsewhere, whether or not it was counted before */
	uint32_t own_us;
	/* From NCCL's KernelCh events, µs; 0: not known, or none. */
	uint32_t kernel_us; /* how long its kernel ran */
	uint32_t begun_us;  /* how long after its stream had reached the operation its kernel began */
	uint32_t queued_us; /* the part of begun_us for which other ranks waited; arrival_ns includes it */
	uint16_t state;
	uint8_t flags; /* those of enum rw_flag that fit: in place, sampled out, unscannable */
};

/* Whether the lateness was mostly the host's. */
static inline bool operation_is_host_late(const struct operation *operation)
{
	return operation->host_us >= operation->by_us / 2;
}

struct instance {
	struct communicator *communicator;
	uint64_t sequence, count;
	uint64_t created_ns;       /* earliest enqueue */
	int32_t source, target; /* p2p: ranks of the communicator; -1 collective */
	int32_t root_or_peer;
	uint32_t serial; /* changes when the instance is forgotten */
	uint8_t function, dtype, algorithm, protocol;
	uint8_t reduction; /* enum rw_operator */
	bool finished, judged, accounted;
	bool unfollowed; /* once judged: sampling gave some ranks no GPU progress for it; no rank was late in it */
	bool by_interposer; /* numbered by the interposer: ranks where that is not active do not report it */
	bool timed;         /* a replay's kernels; what its scans found is an instance of its own */
	bool whole;         /* of it: all its operations are known, and it was given to the account */
	bool unlike;        /* of it: NCCL numbers it differently on two ranks, so that it is not one operation */
	uint64_t nccl_sequence; /* of it: as NCCL numbers it on the first rank */
	uint32_t joined, started, done, excluded; /* number of operations that got this far */
	uint32_t lacking; /* a member that had no operation in it at the last check: analysis/match/completion.c */
	/* Place in the step, by the member that appeared first; place_member JOB_NONE: no member's steps are known
	 * yet. */
	uint32_t place_member, steps_version;
	struct steps_place place;
	/* The first member whose program says which step it is in, and its operation here; JOB_NONE: no program
	 * does. */
	uint32_t marked_member;
	uint64_t marked_ticket;
	uint64_t start_ns;            /* last arrival, once judged */
	uint64_t median_ns;           /* arrival that lateness is counted from, once judged */
	struct operation *operations; /* by member of the communicator */
	uint32_t room;
	uint32_t value_room;
	struct value *values; /* results of scans, by member; NULL = nothing was scanned */
	bool values_queued;   /* waits to be judged */
	bool corrupted;       /* a finding says so */
	bool drift_judged;
	uint32_t mark;        /* the last walk that visited it: analysis/measure/upstream.h */
	/* list of the communicator's unfinished ones, or of all finished ones in order of finishing */
	struct instance *previous, *next;
};

/* The scan results of one operation: analysis/known/values.h. */
struct value {
	struct rw_scan scans[2]; /* by enum value_side */
	uint64_t bytes[2];       /* count × size of the type as this rank called it, by side */
	uint8_t known;           /* bit 1 << side */
	uint8_t judged, placed;  /* bits as in known: was judged; was counted at its place in the step */
	/* bits as in known: bad, but known to have harmed nothing: analysis/measure/aftermath.h */
	uint8_t excused;
	uint8_t followed;        /* bits as in known: its magnitude was counted: analysis/values/drift.h */
	/* bits as in known: its magnitude is in the table for display: analysis/measure/magnitudes.h */
	uint8_t noted;
};

struct instance_key {
	uint32_t communicator;
	uint8_t function;
	bool by_interposer;
	bool timed; /* struct instance */
	int32_t source, target;
	uint64_t sequence;
};

struct instance_slot {
	struct instance *instance; /* NULL: the slot is free */
	uint32_t hash;             /* of its key */
};

struct instances {
	struct instance_slot *slots; /* open addressing by key */
	uint32_t slot_count, count;
	uint64_t operation_room; /* operations in all instances, used and free */
	uint64_t forgotten; /* number dropped for room before all ranks had ended them: no rank was judged by them */
	struct instance *finished_first, *finished_last;
	struct instance *free;
};

/* The existing instance with that key, or a new one. NULL on lack of memory, or when the pool is full of instances that
 * were born later than created_ns. */
struct instance *instances_get(struct instances *instances, struct communicator *communicator,
			       const struct instance_key *key, uint64_t created_ns);
/* The instance with that key; NULL: it was never made, or is forgotten. */
const struct instance *instances_find(const struct instances *instances, const struct instance_key *key);
/* Removes the instance from the unfinished ones of its communicator. It stays known until the pool needs its place. */
void instances_finish(struct instances *instances, struct instance *instance);
/* Forgets all instances of the communicator. */
void instances_forget(struct instances *instances, struct communicator *communicator);
/* The operation of a member; makes room when the communicator has grown. NULL on lack of memory. */
struct operation *instance_operation(struct instances *instances, struct instance *instance, uint32_t member);
/* The operation of a member; NULL when the member appeared after the instance, or has not joined. */
static inline const struct operation *instance_joined(const struct instance *instance, uint32_t member)
{
	return member < instance->room && instance->operations[member].ticket ? &instance->operations[member] : NULL;
}
/* Whether it is one replay of a captured call on all its ranks: analysis/known/replays.h. */
static inline bool instance_is_replay(const struct instance *instance)
{
	return instance->sequence & RW_CAPTURED_SEQUENCE;
}
/* Whether its place is certainly in a training step. */
bool instance_is_in_step(const struct instance *instance);
/* Whether its place is at least in a pattern that has repeated for longer than the layers of a model do. */
bool instance_is_regular(const struct instance *instance);
/* The number with which a step of the same count is reported; -1: not known. instance_step() gives the instance's own
 * step. */
int64_t instance_told_step(const struct instance *instance, uint64_t step);
int64_t instance_step(const struct instance *instance);
/* Whether that number is the program's own. */
bool instance_is_marked(const struct instance *instance);
/* The same where numbers only ever grew by one, so that it stands for one step and steps can be counted by it. */
int64_t instance_step_in_row(const struct instance *instance);
static inline bool instance_is_point_to_point(const struct instance *instance)
{
	return instance->source >= 0;
}
/* Whether no rank can end it before all ranks have arrived. False for functions with a root, where some ranks leave
 * when their data are buffered, and for replays without times. AllToAll as one call sends the same to all. */
bool instance_keeps_all(const struct instance *instance);
/* Whether the instance needs this member (p2p: whether it is one of the two). */
bool instance_concerns(const struct instance *instance, uint32_t member);
/* Whether this member's box would show that it has joined. False where one rank counts by the interposer and another
 * does not. */
bool instance_is_told(const struct instance *instance, uint32_t member);
/* Whether the member is needed, would show in its box, and is not past this sequence: then it is missing while it has
 * not joined. */
bool instance_awaits(const struct instance *instance, uint32_t member);
/* Whether the member is seen and needed, and has neither joined nor is excused (ended, or already past this
 * sequence). */
bool instance_lacks(const struct instance *instance, uint32_t member);
void instances_free(struct instances *instances);

#endif
