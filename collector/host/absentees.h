/* SPDX-License-Identifier: MIT */
/*
 * Ranks that others wait for before they have a black box: looks for their processes in /proc, by what the launcher
 * put into their environment (the plugin's own rules), and whether those get on. Who has come is remembered before
 * anybody waits: one that never had a process has not ended. Only processes of the boxes' owner are looked at, on
 * libuv's threads: reading a process's memory can take as long as it likes. One owner thread.
 */
#ifndef COLLECTOR_HOST_ABSENTEES_H
#define COLLECTOR_HOST_ABSENTEES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "analysis/analysis.h"
#include "base/writer_process.h"

enum {
	ABSENTEES_MAX = 32,
	ABSENTEES_WORLD = 4096, /* on one host there are no more */
};

/* One rank at the last sample. */
struct absentees_rank {
	int32_t world_rank;
	uint64_t ticks, bytes; /* of all its processes: CPU time, read and written */
	uint64_t polled_ns;    /* 0 = never */
};

/* The idle process of a missing rank, whose threads are looked at. */
struct absentees_held {
	int32_t world_rank;
	struct writer_process writer; /* pid 0: none */
};

#define ABSENTEES_NOBODY ((uid_t)-1)

struct absentees_pass;

struct absentees {
	struct analysis *analysis;
	uv_loop_t *loop;  /* NULL: looks are made at once, on the caller's thread (a recorded /proc does not block) */
	uid_t owner;      /* of the boxes; ABSENTEES_NOBODY: not known yet, nobody is looked at */
	const char *proc; /* "/proc" */
	const char *job;
	/* NULL, or this host's name: a process that Slurm calls another node's is none of this host */
	const char *node;
	/* Has the threads of this process looked at, by its number of analysis_absent_process(), until unwatch(); the
	 * writer stays ours. False: they are already, for the sake of its box. NULL: nobody looks. */
	bool (*watch)(void *argument, analysis_process_id process, const struct writer_process *writer);
	void (*unwatch)(void *argument, analysis_process_id process);
	void *argument;
	struct absentees_held held[ABSENTEES_MAX];
	struct absentees_rank ranks[ABSENTEES_MAX];
	int32_t seen[ABSENTEES_WORLD]; /* pid of each world rank of this generation when it was last seen; 0: never */
	int32_t generation;
	int32_t world_size; /* of the job's processes on this host, where all ranks are here; else -1; 0: none seen */
	uint64_t begun_ns, polled_ns;
	struct absentees_pass *pass; /* under way; NULL none */
	bool silence_said;
};

/* Call often. A sample is a pass over /proc: once a second while somebody is waited for, and less and less often
 * before, until all ranks have a black box. What a sample finds is reported to the analysis from the loop, later. */
void absentees_poll(struct absentees *absentees, uint64_t now_ns);
/* The process has a black box now, and is watched for that one's sake. */
void absentees_let_go(struct absentees *absentees, pid_t pid);
/* Lets all go. Runs the loop until the pass that is under way is over, for a second at most. False: it still hangs in
 * its read, on a thread that uses the loop; the process can only be left with _exit(2). */
bool absentees_close(struct absentees *absentees);

#endif
