/* SPDX-License-Identifier: MIT */
/*
 * What the black boxes of a job show once it has ended, where nothing was found while it ran: it can be over before a
 * collector calls a wait a hang, and a collector can have been killed before it. The same analysis as `rankwatch
 * report`, in a process of its own with a deadline, so that boxes which take long to read keep nobody's exit status for
 * longer.
 */
#ifndef CONSOLE_RUN_POST_MORTEM_H
#define CONSOLE_RUN_POST_MORTEM_H

#include <stdint.h>

#include <jansson.h>

struct post_mortem_request {
	const char *job;
	const char *kernel_log; /* as of `report`; NULL: its default */
	uint64_t began_ns;      /* CLOCK_MONOTONIC, before the job: older boxes are of another run */
	unsigned timeout_ms;
	int signal_fd; /* a signalfd(2) that has SIGCHLD too: any other signal there ends the work; -1: none */
};

/* *findings: those from `warning` up, those that say most first, as many as fit into IN_TIME_RESULT bytes; a new array,
 * empty where nothing was found or no box is of this run; NULL on error. 0; -ETIMEDOUT; -EINTR: a signal came; -ECHILD:
 * the process crashed; or another -errno. One thread at a time. */
int post_mortem(const struct post_mortem_request *request, json_t **findings);

#endif
