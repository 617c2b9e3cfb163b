/* SPDX-License-Identifier: MIT */
/*
 * The job: a child in the same process group and on the same terminal, as if it had been started without us. Signals
 * that reach us are passed on, our status is its status. One per process.
 */
#ifndef CONSOLE_RUN_JOB_H
#define CONSOLE_RUN_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "console/run/job_environment.h"

struct job {
	pid_t pid;
	int signal_fd; /* readable when a signal waits, SIGCHLD too */
	int refusal_fd; /* readable when the program could not be executed; closed by exec */
	bool ended;
	int status;    /* wait(2)'s, once it has ended */
	uint64_t asked_to_end_ns; /* when SIGINT, SIGTERM or SIGHUP first reached us; 0 = none has */
	sigset_t mask; /* signal mask that we were started with */
};

/* Blocks the signals that job_read_signals() handles, then starts argv. environment NULL: as it is. 0 or -errno. */
int job_start(struct job *job, char **argv, const struct job_environment *environment);
/* Passes on what has come. true when a child may have ended. */
bool job_read_signals(struct job *job);
/* Once the job has ended: has a signal come there (-1: none does) that asks for an end of what we still do? SIGCHLD
 * does not. Reads all that wait. */
bool job_asked_to_end(int signal_fd);
/* Takes note of a child that wait(2) returned; false when it is not the job. */
bool job_note(struct job *job, pid_t pid, int status);
/* Of a job that has ended: has its program run at all? What kept it from that has been said. */
bool job_was_started(const struct job *job);
/* As a shell says it: 128 + n for a signal. */
int job_exit_status(const struct job *job);

#endif
