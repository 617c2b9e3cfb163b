/* SPDX-License-Identifier: MIT */
/*
 * Which processes end the waits of one rank's threads, and what they do. One that ended a wait of a pipe, a socket or
 * for a child is expected to end the next one, too, and a child that has the other end of a pipe or TCP connection to
 * end the present one: they are looked at while others wait for the rank. Only a process of the user whose black box
 * the rank writes is looked at, with that user's rights. One owner thread.
 */
#ifndef COLLECTOR_HOST_AWAITED_H
#define COLLECTOR_HOST_AWAITED_H

#include "analysis/analysis.h"
#include "base/writer_process.h"
#include "collector/sources/waits/proc_source.h"

enum { AWAITED_MOST = 4 };

struct awaited_process {
	pid_t pid;        /* 0: this place is free */
	uint32_t tid;     /* its thread that ended the last wait … */
	uint64_t woke_ns; /* … at this time */
	bool refused;     /* it is not to be looked at */
};

/* What was last found of a thread's wait: asked again once a second, or when it waits for something else. */
struct awaited_answer {
	uint32_t tid;
	int32_t system_call;
	char path[64];
	uint64_t at_ns;
	pid_t pid; /* 0: nobody is known */
};

/* Of one rank; all zero: none yet. May be copied. */
struct awaited {
	struct awaited_process processes[AWAITED_MOST];
	struct awaited_answer answer;
};

/* A thread of the rank waited so. What no other process ended is left out; the process that has ended none for the
 * longest time makes room. */
void awaited_note(struct awaited *awaited, struct proc_source *proc, const struct analysis_wait *wait);
/* One look at each of them, handed to the analysis as of the rank `id`, whose process is `rank`. waiting: a sample,
 * taken just now, of the rank's thread that others wait for; the child that it waits for is looked at, too. NULL: none.
 * The thread must have chosen the rights of the rank's user (owner_rights.h). proc_root: where `proc` reads. */
void awaited_sample(struct awaited *awaited, struct proc_source *proc, const char *proc_root, struct analysis *analysis,
		    analysis_process_id id, const struct writer_process *rank, const struct analysis_wait *waiting,
		    uint64_t now_ns);
/* Lets go what is kept in `proc` for them. */
void awaited_forget(struct awaited *awaited, struct proc_source *proc);

#endif
