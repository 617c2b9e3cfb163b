/* SPDX-License-Identifier: MIT */
/* The participants of a job: processes, their ranks, hosts and communicators. The analysis owns all of them; pointers
 * stay valid until it is freed. */
#ifndef ANALYSIS_KNOWN_JOB_H
#define ANALYSIS_KNOWN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/known/call_order.h"
#include "analysis/host/evidence.h"
#include "analysis/host/children.h"
#include "analysis/host/other_looks.h"
#include "analysis/host/python_looks.h"
#include "analysis/host/stalls.h"
#include "analysis/steps/steps.h"
#include "analysis/known/versions.h"

#define JOB_NONE UINT32_MAX

enum {
	JOB_TRACE = 4096, /* operations per process that can be found by ticket; a power of two */
};

struct instance;
struct job;
struct kernel_clock;
struct usual_table;

/* One operation of a process by its ticket: what later operations need of it, and where the rest is. */
struct trace {
	uint64_t ticket; /* 0 = unused */
	struct instance *instance;
	uint32_t serial; /* the instance is the same as long as it has this serial */
	uint32_t member;
	uint32_t rank;
	uint32_t communicator;
	uint64_t launch_ns, done_ns;
	bool mark;   /* no operation but a step mark: no instance, no rank */
	bool numbered;      /* NCCL's number of it is known, and was looked at */
	bool times_unknown; /* when its GPU reached and left the operation, while that is known of others */
	struct steps_place place;
	uint32_t steps_version;
};

/* A process's entry in its own communicator table. */
struct membership {
	struct communicator *communicator; /* NULL = not announced, or released */
	uint32_t member;
	uint64_t left_ns; /* created_ns of the communicator that was released; 0 none */
};

/* The driver call of the plugin that the process's init is in; since_ns 0: none. */
struct held {
	char call[48];
	const char *remedy;
	uint64_t since_ns;
};

enum { PAUSES_KEPT = 8 };

struct pause {
	uint64_t from_ns, until_ns; /* until 0: none */
};

/* The latest, in a ring. */
struct pauses {
	struct pause latest[PAUSES_KEPT];
	uint32_t count; /* ever */
};

/* A process that numbers an instance's step differently; valid while both have these versions of their steps. */
struct dispute {
	const struct process *with; /* NULL: none */
	uint32_t version, version_with;
};

struct process {
	analysis_process_id id;
	const struct job *of_job;
	uint32_t index;
	int32_t pid;
	int32_t kernel_pid;                         /* as the kernel log numbers it; 0 not known */
	int32_t world_rank, world_size, generation, local_rank; /* from its launcher; -1 unknown */
	bool interposed; /* the interposer reports calls, too … */
	bool counts_calls; /* … and only these are counted, because NCCL's profiler interface announces none */
	/* NCCL's profiler interface announces tasks and no calls, and nobody else does */
	bool counts_tasks;
	uint32_t host;
	char host_name[64], job[64], rank_from[32], watchdog_from[32], mesh[128];
	uint64_t watchdog_ms, watchdog_init_ms;
	uint64_t memory_group; /* the control group that limits its memory most; 0: none is known */
	struct rw_device devices[RW_BOX_DEVICES];
	uint32_t devices_used; /* devices with a communicator */
	enum analysis_life life;
	/* it has ended before anybody read this: nothing that a living process takes is advised, and its watchdog does
	 * not count */
	bool past;
	int exit_status;
	uint64_t life_ns;        /* when `life` last changed */
	uint64_t left_ns;        /* it had ended by then, and nothing more will be learned of how; 0: not set */
	struct versions versions;
	uint64_t created_ns;        /* when its box was made */
	struct held held;
	struct rw_init init;   /* the communicator init that it is in; since_ns 0: none */
	uint64_t destroying_since_ns; /* it is in ncclCommDestroy; 0: it is not */
	uint64_t first_ns;       /* enqueue of the first operation seen; 0 = its very first operation was seen */
	uint64_t last_ns;        /* last time stamp from it */
	uint64_t heartbeat_ns;   /* of its box; 0: none known */
	uint64_t last_launch_ns; /* on any communicator */
	uint64_t gpu_moved_ns;   /* when its GPU was last seen to begin or end an operation */
	uint32_t enqueue_tid;    /* thread of its last operation */
	uint32_t first_tid;      /* thread of its first operation that was seen */
	uint64_t operations, untracked, dropped;
	uint64_t one_sided; /* of `untracked` */
	uint64_t mask_ns; /* when NCCL's event mask was first seen to lack what records operations: they may be missing
			     since then; 0: it was not */
	struct pauses pauses;
	uint64_t marks_before; /* step marks before its first operation that was seen, from its first ticket on */
	uint64_t bytes; /* bytes of these operations' counts; INT64_MAX at most */
	struct analysis_scanning scanning;
	uint64_t captured_before; /* captured calls without times on communicators that were released */
	struct membership *memberships;
	uint32_t membership_count;
	struct trace *trace; /* JOB_TRACE */
	struct trace *replays; /* JOB_TRACE, in order of their results; NULL none: analysis/known/replays.h */
	struct trace *timed;   /* replays with times by ticket % JOB_TRACE; NULL: none yet … */
	uint64_t newest_timed; /* … and the highest of these tickets */
	bool captures;         /* it has captured a call */
	uint64_t replay_count;
	struct steps steps;
	struct dispute dispute; /* analysis/steps/numbering.h */
	struct evidence evidence;
	struct python_looks *python; /* NULL: no sample was taken */
	struct other_looks *others;  /* samples of processes that it waits for; NULL: none */
	struct children *children;   /* what its child processes used; NULL: not read */
};

/* A rank belongs to (process, device). */
struct rank {
	struct process *process;
	uint32_t device;
	int32_t world;   /* -1 not known yet */
	/* size of the largest communicator that it is in, or ranks seen of it where the size is not known … */
	int32_t largest;
	int32_t largest_rank;   /* … and its rank there */
	struct stalls stalls;   /* periods for which its lateness was charged */
	uint64_t values_from;   /* ticket from which bad values are new: earlier ones belong to a story that is over */
	uint32_t births;        /* number of times that only this rank made bad values, in stories that are over */
	int64_t birth_step;     /* reported step of the last of these; -1 not known */
};

/* Bad values of one kind of operation and side. */
struct early_bad {
	uint64_t elements, first; /* how many, and the first */
	uint32_t times;  /* how often, with clean inputs in between */
	uint64_t ticket; /* ticket of the last time */
	uint8_t function, side;
	bool nan; /* NaN are among them */
};

struct member {
	struct process *process;
	uint32_t rank; /* index into job.ranks */
	int32_t comm_rank;
	bool ended;
	uint64_t met_ns; /* end of its newest operation that is accounted for: analysis/match/account.h */
	uint64_t gpu_started, gpu_done; /* the GPU page's words as last read */
	/* its GPU has waited in ncclWaitSignal since then; 0: it does not, or nobody sees it */
	uint64_t signal_since_ns;
	uint64_t captured; /* calls … */
	uint64_t timed;    /* … of which every replay is recorded with the times of its kernel, at most as many */
	bool unfollowed_transfer; /* the GPU's progress in one of its transfers between two ranks was not followed */
	uint64_t sent, sent_itself; /* Sends, and those of them to the member itself */
	uint64_t announced; /* operations that the API announced, by the box's count */
	uint64_t splits;    /* struct rw_communicator */
	uint64_t created_ns;
	uint64_t last_sequence[2][RW_FUNCTION_COUNT]; /* + 1, so that 0 is none; by instance.by_interposer */
	uint64_t next_task[RW_FUNCTION_COUNT]; /* NCCL's number that the next one has; 0: none was seen */
	uint64_t replayed[RW_FUNCTION_COUNT]; /* number of captured calls of which results were seen */
	uint32_t clean_scans;  /* of its operations, both sides */
	uint64_t clean_ticket; /* of its newest operation with clean input */
	uint32_t early_count;
	struct early_bad early[4]; /* see analysis/known/usual.h */
	struct usual_table *usual; /* values at the places of its own steps; NULL = none yet */
	struct kernel_clock *kernels; /* times of its kernels: analysis/known/kernel_start.h; NULL = none yet */
	struct kernel_clock *replay_kernels; /* likewise, of replays */
};

struct communicator {
	uint64_t id;
	uint64_t told_id;    /* by which other hosts know it: of several of one id each has its own */
	uint32_t occurrence; /* so many of this id and size came before: NCCL gives one to all shrunk of a parent */
	uint32_t index;
	char name[64];          /* NCCL's, "" none */
	int32_t size;           /* 0: not known; NCCL before 2.27 does not report it */
	int32_t hosts;          /* number of hosts that it spans, as NCCL counts them; 0: not known */
	struct member *members; /* the members that were seen, in order of appearance */
	uint32_t member_count, member_room, settled_count;
	uint64_t settled_ns; /* tick since which there are settled_count members */
	struct instance *unfinished_first, *unfinished_last;
	uint32_t unfinished_count, finished_count; /* number of its known instances */
	bool point_to_point;      /* has carried p2p operations */
	bool unlike;              /* the interposer is active on some of its ranks only */
	/* replays of graphs are operations of it, on some ranks perhaps and on others not: nothing of it is compared */
	bool uneven;
	bool mixed;               /* may be several of one id: two claim one place, or one claims two */
	struct call_order *order; /* of its collectives; NULL = none yet */
	struct pair_parting *pair; /* a transfer whose two ends differ: analysis/hang/pair.h; NULL = none yet */
	bool desync_told;
	uint64_t ended_ns; /* tick at which all members had ended; 0 not yet */
	struct usual_table *usual_replays; /* values of its captured calls; NULL = none yet */
};

struct job {
	struct process **processes;
	uint32_t process_count, process_room;
	uint32_t *process_slots; /* open addressing by id: index + 1 */
	uint32_t process_slot_count;
	struct process *reading; /* whose operation came last; NULL: none */
	struct rank *ranks;
	uint32_t rank_count, rank_room;
	struct communicator **communicators;
	uint32_t communicator_count, communicator_room;
	/* total so far: those that ended on all ranks are released, see analysis/expiry.h */
	uint32_t communicators_made;
	char (*hosts)[64];
	uint32_t host_count;
	bool pipelined; /* some communicator carries p2p operations, so pipeline bubbles are expected */
	/* when the caller went on after it had not run itself: who waited may have been stopped, too */
	uint64_t resumed_ns;
	uint64_t masked_ns; /* the first mask_ns of its processes; 0: none */
	struct pause suspended[PAUSES_KEPT]; /* all processes: analysis/known/suspension.h */
	bool was_suspended;
};

/* Return 0, -EINVAL, -EEXIST or -ENOMEM. */
int job_add_process(struct job *job, const struct analysis_process *process);
int job_add_communicator(struct job *job, struct process *process, uint32_t index,
			 const struct rw_communicator *communicator);
struct process *job_process(const struct job *job, analysis_process_id id);
/* Captured calls whose replays have no times. */
static inline uint64_t job_untimed_calls(const struct member *member)
{
	return member->captured - member->timed;
}
/* Has the process captured calls whose replays have no times, or made one-sided calls, which may wait? Then what it did
 * between its operations is not known. */
bool job_hides_waits(const struct process *process);
/* Whether the job has ranks that are not seen, as on other hosts; false also where its size is not known. */
bool job_is_partial(const struct job *job);
/* How many ranks of the communicator were not seen; -1 not known. A communicator of unknown size is complete for
 * certain only when it has as many ranks as the launcher's world, each in a process with one device. */
int32_t job_unseen(const struct communicator *communicator);
/* World size: the launcher's, else that of the largest communicator; -1 unknown. */
int32_t job_world_size(const struct job *job);
/* From now on the table entries of its members belong to no communicator, until they get a new one. */
void job_leave_communicator(const struct communicator *communicator);
void communicator_free(struct communicator *communicator);
void job_free(struct job *job);

static inline const struct rank *job_member_rank(const struct job *job, const struct member *member)
{
	return &job->ranks[member->rank];
}

/* Whether the entry's communicator was released. Further records of that communicator are ignored. */
static inline bool job_was_left(const struct process *process, uint32_t index)
{
	return index < process->membership_count && !process->memberships[index].communicator &&
	       process->memberships[index].left_ns;
}

/* The member to which this entry of the process's communicator table belongs; NULL: none. */
static inline struct member *job_member_of(const struct membership *membership)
{
	return membership->communicator ? &membership->communicator->members[membership->member] : NULL;
}

#endif
