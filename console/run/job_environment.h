/* SPDX-License-Identifier: MIT */
/* What `rankwatch run` changes in the environment of the job, and nothing else. */
#ifndef CONSOLE_RUN_JOB_ENVIRONMENT_H
#define CONSOLE_RUN_JOB_ENVIRONMENT_H

#include <stdbool.h>

#include "console/install/install.h"
#include "console/install/nccl_plugin.h"

struct job_environment {
	char job[64];                 /* the job's name, as plugin and collector will both see it */
	bool names_job;               /* nothing in the environment does: RANKWATCH_JOB must */
	bool chains;                  /* NCCL_PROFILER_PLUGIN names another plugin already: */
	struct nccl_plugin other;
	bool configuration_silent;    /* NCCL's files, which would say so, do not answer */
	char *library_path, *preload; /* NULL: leave as it is */
};

/* Reads the present environment. job: NULL = as the environment names it, else one of its own. preload: LD_PRELOAD too.
 * 0 or -ENOMEM; clear in both cases. */
int job_environment_fill(struct job_environment *environment, const struct install *install, const char *job,
			 bool preload);
/* Changes the environment of this process: call it between fork and exec. 0 or -ENOMEM. */
int job_environment_apply(const struct job_environment *environment);
void job_environment_clear(struct job_environment *environment);

#endif
