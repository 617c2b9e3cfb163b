/* SPDX-License-Identifier: MIT */
/* One run of a demo's scenario: the workload on the stand-in libraries, under `rankwatch run`, on a slow disk where it
 * needs one. Owns the child, the file of findings and the job's black boxes. One at a time in a process. */
#ifndef CONSOLE_TRIALS_DEMO_RUN_H
#define CONSOLE_TRIALS_DEMO_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "console/install/install.h"
#include "console/trials/demo_witness.h"
#include "sim/workload/job/scenario.h"

struct demo_run {
	struct install install;
	char job[64];
	char findings[64]; /* file of JSON lines */
	char nvml[80], kernel_log[80]; /* what the stand-in's GPUs say of their health */
	int duration_s;
	pid_t child;
	struct demo_witness witness;
	int signal;                     /* that ended it early, 0 none */
	char failed[INSTALL_PATH + 16]; /* what demo_run_start() failed at */
};

/* Starts the scenario; the job's own output goes to stderr. 0 or -errno; close in both cases. */
int demo_run_start(struct demo_run *demo, const struct scenario *scenario);
/* Waits for its end and returns the job's exit status. Passes SIGINT and SIGTERM on, so that everything that was set up
 * is torn down. json: findings are copied to stdout as they come; else a sign of life goes to a terminal on stderr. */
int demo_run_wait(struct demo_run *demo, bool json);
/* Removes the findings and black boxes unless they are to be kept. */
void demo_run_close(struct demo_run *demo, bool keep);

#endif
