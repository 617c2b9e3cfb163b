/* SPDX-License-Identifier: MIT */
/*
 * The command of --on-finding for findings that no collector reported: those of the post-mortem. As a collector runs it
 * (collector/sinks/command.h), one after the other, but waited for: the job has ended.
 */
#ifndef CONSOLE_RUN_ON_FINDING_H
#define CONSOLE_RUN_ON_FINDING_H

#include <signal.h>

#include <jansson.h>

struct on_finding_request {
	const char *command; /* what the shell is given; NULL: none, and nothing is done */
	const sigset_t *mask; /* signal mask of the command */
	/* for all of them; a command that runs then is killed, with what it started in its session */
	unsigned timeout_ms;
	int signal_fd;        /* as of post_mortem() */
};

/* findings: an array, the most severe of an incident first: that one is reported. What goes wrong is said once on
 * stderr. */
void on_finding_run(const struct on_finding_request *request, const json_t *findings);

#endif
