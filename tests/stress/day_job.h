/* SPDX-License-Identifier: MIT */
/*
 * A training job of eight ranks in virtual time, in real black boxes, on the machine of day_host.h, day_kernel.h and
 * day_gpus.h: steps of collectives, communicators that are split and freed again, restarts. In each hour a rank is late
 * for some minutes, transfers are slow for some, a GPU reports an Xid, and the kernel's records have a gap. Of four
 * lives rank 3 is killed in two, in one rank 6 comes 20 s after the others, and in one its process ends before it has a
 * box.
 */
#ifndef TESTS_STRESS_DAY_JOB_H
#define TESTS_STRESS_DAY_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "blackbox/writer.h"

enum { DAY_RANKS = 8, DAY_LATE_RANK = 5, DAY_KILLED_RANK = 3, DAY_ABSENT_RANK = 6, DAY_XID_RANK = 2 };
/* Minutes of each hour: the kernel's records have a gap, rank 5 is late from then on, a GPU reports an Xid, transfers
 * are slow from then on. */
enum { DAY_LOSS_MINUTE = 10, DAY_LATE_MINUTE = 20, DAY_XID_MINUTE = 30, DAY_SLOW_MINUTE = 40, DAY_TROUBLE_MINUTES = 5 };

struct day_plan {
	const char *directory;  /* for the boxes */
	uint64_t begin_ns, end_ns;
	uint64_t operations, communicators, restarts; /* in all this time */
};

struct day_rank {
	struct box_writer writer; /* .map NULL: between two lives */
	pid_t pid;
	bool alive;
	uint64_t inode;
	int exit_status; /* as wait(2) has it, when it is not alive */
	uint64_t progress, sequence[RW_FUNCTION_COUNT];
	struct rw_operation *slot; /* its operation in flight; NULL: none */
	uint64_t ticket;
	bool writing; /* its main thread is in write(2) */
};

/* The operation of all ranks that is next, or under way. */
struct day_operation {
	bool planned;
	uint64_t in_step, begin_ns, api_ns[DAY_RANKS], done_ns;
	int begun;
};

enum day_phase { DAY_GATHERS, DAY_RUNS, DAY_ENDS };

struct day_job {
	struct day_plan plan;
	struct day_rank ranks[DAY_RANKS];
	enum day_phase phase;
	uint64_t life_ns, phase_ends_ns; /* since when; the latter not of DAY_RUNS */
	struct day_operation operation;
	uint64_t operations, communicators, lives; /* so far */
	uint64_t restarts, killed, came_late, never_came; /* so far; the first: of a job that ran */
	uint64_t leases;                           /* renewals of leases that its ranks have seen */
	uint64_t slow_times;                       /* transfers became slow, and no restart was near */
	uint64_t next_op_ns, op_ns;                /* when, and how far apart, are the operations of a rank */
	uint64_t number;                           /* of the next one in this life */
	uint64_t next_split_ns, next_restart_ns, next_minute_ns;
	uint32_t next_entry;
	bool split_lives;
	uint64_t split_ends_ns, random;
};

/* Begins its first life. 0 or -errno. */
int day_job_open(struct day_job *job, const struct day_plan *plan);
/* Does what is due up to now. 0 or -errno. */
int day_job_play(struct day_job *job, uint64_t now_ns);
void day_job_close(struct day_job *job);

#endif
