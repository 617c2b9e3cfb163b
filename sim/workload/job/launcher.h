/* SPDX-License-Identifier: MIT */
/* Starts one copy of this program per rank, as torchrun does on one node. */
#ifndef SIM_WORKLOAD_JOB_LAUNCHER_H
#define SIM_WORKLOAD_JOB_LAUNCHER_H

#include "sim/workload/job/options.h"

/* Returns the job's exit status: the worst of its ranks (128 + signal for a killed one), 124 when the limit ended it.
 * SIGTERM, SIGINT and SIGHUP are passed on; who is left 3 s later is killed. */
int launcher_main(const struct options *options, char **argv);

#endif
