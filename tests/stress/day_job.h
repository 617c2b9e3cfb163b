/* SPDX-License-Identifier: MIT */
/*
 * A training job of eight ranks in virtual time, in real black boxes: steps of collectives, communicators that are split and
 * freed again, a rank that is late for a while in each hour, restarts, after some of which a rank had been killed.
 */
#ifndef TESTS_STRESS_DAY_JOB_H
#define TESTS_STRESS_DAY_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "blackbox/writer.h"

enum { DAY_RANKS = 8 };

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
};

struct day_job {
	struct day_plan plan;
	struct day_rank ranks[DAY_RANKS];
	uint64_t operations, communicators, lives; /* so far */
	uint64_t next_op_ns, op_ns;                /* when, and how far apart, are the operations of a rank */
	uint64_t number;                           /* of the next one in this life */
	uint64_t next_split_ns, next_restart_ns, dead_until_ns;
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
