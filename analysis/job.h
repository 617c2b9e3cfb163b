/* SPDX-License-Identifier: MIT */
/* Who takes part: processes, the ranks they hold, hosts and communicators. The analysis owns all of them; pointers stay
 * valid until it is freed. */
#ifndef ANALYSIS_JOB_H
#define ANALYSIS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/call_order.h"
#include "analysis/evidence.h"
#include "analysis/other_looks.h"
#include "analysis/python_looks.h"
#include "analysis/stalls.h"
#include "analysis/steps.h"
#include "analysis/versions.h"

#define JOB_NONE UINT32_MAX

enum {
	JOB_TRACE = 4096, /* operations of a process that are found by ticket; a power of two */
};

struct instance;
struct job;
struct usual_table;

/* One operation of a process by its ticket: what the next ones need to know of it, and where the rest is. */
struct trace {
	uint64_t ticket; /* 0 = unused */
	struct instance *instance;
	uint32_t serial; /* the instance is still the same while its serial is */
	uint32_t member;
	uint32_t rank;
	uint32_t communicator;
	uint64_t launch_ns, done_ns;
	bool veiled; /* nobody knows when its GPU came to it and left it, while that is known of others */
	struct steps_place place;
	uint32_t steps_version;
};

/* A process's entry in its own communicator table. */
struct seat {
	struct communicator *communicator; /* NULL = not announced, or given back */
	uint32_t member;
	uint64_t left_ns; /* born_ns of the one that was given back; 0 none */
};

/* A driver call of the plugin, in which the process's init is; since_ns 0: in none. */
struct held {
	char call[48];
	const char *remedy;
	uint64_t since_ns;
};

/* Who numbers an instance differently; while both go by these versions of their steps. */
struct dispute {
	const struct process *with; /* NULL nobody */
	uint32_t version, version_with;
};

struct process {
	analysis_process_id id;
	const struct job *of_job;
	uint32_t index;
	int32_t pid;
	int32_t kernel_pid;                         /* as the kernel log numbers it; 0 not known */
	int32_t world_rank, world_size, generation, local_rank; /* as its launcher said; -1 unknown */
	bool interposed; /* calls come from the interposer, too … */
	bool counts_calls; /* … and are all that is counted: NCCL's profiler interface does not announce any */
	uint32_t host;
	char host_name[64], job[64], rank_from[32], watchdog_from[32], mesh[128];
	uint64_t watchdog_ms, watchdog_init_ms;
	uint64_t memory_group; /* control group that limits its memory most; 0 none is known */
	struct rw_device devices[RW_BOX_DEVICES];
	uint32_t devices_used; /* devices with a communicator */
	enum analysis_life life;
	int exit_status;
	uint64_t life_ns;        /* when life became that */
	uint64_t left_ns;        /* it had ended by then, and all is known of how; 0: not so */
	struct versions versions;
	uint64_t born_ns;        /* when its box was made */
	struct held held;
	struct rw_init init;   /* of a communicator, that it is in; since_ns 0: none */
	uint64_t first_ns;       /* enqueue of the first operation seen; 0 = its very first operation was seen */
	uint64_t last_ns;        /* last time stamp that it gave */
	uint64_t heartbeat_ns;   /* its box's; 0: none known */
	uint64_t last_launch_ns; /* on any communicator */
	uint64_t gpu_moved_ns;   /* its GPU was last seen to begin or end an operation */
	uint32_t enqueue_tid;    /* thread of its last operation */
	uint32_t first_tid;      /* and of its first, as far as seen */
	uint64_t operations, untracked, dropped;
	uint64_t bytes; /* of their counts, INT64_MAX at most */
	struct analysis_scanning scanning;
	uint64_t captured_before; /* on communicators that were given back */
	struct seat *seats;
	uint32_t seat_count;
	struct trace *trace; /* JOB_TRACE */
	struct trace *replays; /* JOB_TRACE, in order of their results; NULL none: analysis/replays.h */
	uint64_t replay_count;
	struct steps steps;
	struct dispute dispute; /* analysis/numbering.h */
	struct evidence evidence;
	struct python_looks *python; /* NULL: nobody has looked */
	struct other_looks *others;  /* likewise, at processes that it waits for */
};

/* A rank belongs to (process, device). */
struct rank {
	struct process *process;
	uint32_t device;
	int32_t world;   /* -1 not known yet */
	int32_t largest; /* size, or ranks seen where that is not known, of the largest communicator it is in … */
	int32_t largest_rank;   /* … and its rank there */
	struct stalls stalls;   /* what its lateness was charged for */
	uint64_t values_from;   /* ticket from which bad values are news: those before belong to what is over */
	uint32_t births;        /* of bad values that it made alone, in stories that are over */
	int64_t birth_step;     /* of the last one, as told; -1 not known */
};

/* Bad values of one kind of operation and side. */
struct early_bad {
	uint64_t elements, first; /* how many, and the first */
	uint32_t times;  /* with clean inputs in between */
	uint64_t ticket; /* of the last time */
	uint8_t function, side;
	bool nan; /* among them */
};

struct member {
	struct process *process;
	uint32_t rank; /* index into job.ranks */
	int32_t comm_rank;
	bool ended;
	uint64_t gpu_started, gpu_done; /* last words of the GPU page */
	uint64_t captured;
	uint64_t announced; /* operations that the API announced, by the box's count */
	uint64_t born_ns;
	uint64_t met_ns; /* end of its newest operation that is accounted for: analysis/account.h */
	uint64_t last_sequence[2][RW_FUNCTION_COUNT]; /* + 1, so that 0 is none; by instance.by_interposer */
	uint64_t replayed[RW_FUNCTION_COUNT]; /* captured calls of which results were seen */
	uint32_t clean_scans;  /* of its operations, both sides */
	uint64_t clean_ticket; /* of the newest that it brought clean values into */
	uint32_t early_count;
	struct early_bad early[4]; /* see analysis/usual.h */
	struct usual_table *usual; /* values at the places of its own steps; NULL = none yet */
};

struct communicator {
	uint64_t id;
	uint32_t index;
	char name[64];          /* NCCL's, "" none */
	int32_t size;           /* 0: not known, NCCL before 2.27 does not tell */
	int32_t hosts;          /* that it spans, as NCCL counts them; 0: not known */
	struct member *members; /* those seen, in order of their appearance */
	uint32_t member_count, member_room, settled_count;
	uint64_t settled_ns; /* tick since which settled_count members are seen */
	struct instance *unfinished_first, *unfinished_last;
	uint32_t unfinished_count, finished_count; /* of its instances that are known */
	bool point_to_point;      /* has carried p2p operations */
	bool unlike;              /* the interposer is at work on some of its ranks only */
	struct call_order *order; /* of its collectives; NULL = none yet */
	struct pair_parting *pair; /* a transfer whose two ends differ: analysis/pair.h; NULL = none yet */
	bool desync_told;
	uint64_t ended_ns; /* tick at which all members had ended; 0 not yet */
	struct usual_table *usual_replays; /* values of its captured calls; NULL = none yet */
};

struct job {
	struct process **processes;
	uint32_t process_count, process_room;
	uint32_t *process_slots; /* open addressing by id: index + 1 */
	uint32_t process_slot_count;
	struct rank *ranks;
	uint32_t rank_count, rank_room;
	struct communicator **communicators;
	uint32_t communicator_count, communicator_room;
	uint32_t communicators_made; /* ever: those that ended on all ranks are given back, see analysis/expiry.h */
	char (*hosts)[64];
	uint32_t host_count;
	bool pipelined; /* some communicator carries p2p operations: bubbles are to be expected */
};

/* 0, -EINVAL, -EEXIST or -ENOMEM. */
int job_add_process(struct job *job, const struct analysis_process *process);
int job_add_communicator(struct job *job, struct process *process, uint32_t index,
			 const struct rw_communicator *communicator);
struct process *job_process(const struct job *job, analysis_process_id id);
/* How many ranks of the communicator were not seen; -1 not known. One of unknown size is whole for certain only when it
 * has as many ranks as the launcher's world, each in a process with one device. */
int32_t job_unseen(const struct communicator *communicator);
/* World size: the launcher's, else that of the largest communicator; -1 unknown. */
int32_t job_world_size(const struct job *job);
/* Its members' entries are nobody's from now on, until they get a new owner. */
void job_leave_seats(const struct communicator *communicator);
void communicator_free(struct communicator *communicator);
void job_free(struct job *job);

static inline const struct rank *job_member_rank(const struct job *job, const struct member *member)
{
	return &job->ranks[member->rank];
}

/* Was its owner given back? What a reader still tells of it is of no matter. */
static inline bool job_was_left(const struct process *process, uint32_t index)
{
	return index < process->seat_count && !process->seats[index].communicator && process->seats[index].left_ns;
}

/* Who has that entry of the process's communicator table; NULL nobody. */
static inline struct member *job_seated(const struct seat *seat)
{
	return seat->communicator ? &seat->communicator->members[seat->member] : NULL;
}

#endif
