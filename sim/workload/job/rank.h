/* SPDX-License-Identifier: MIT */
/* One rank of the job, as its launcher has set it up: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT. */
#ifndef SIM_WORKLOAD_JOB_RANK_H
#define SIM_WORKLOAD_JOB_RANK_H

#include "sim/workload/job/options.h"

/* Trains; rank 0 prints the job's result as one JSON line. Returns the exit status. */
int rank_main(const struct options *options);

#endif
