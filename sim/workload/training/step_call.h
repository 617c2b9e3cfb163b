/* SPDX-License-Identifier: MIT */
/* How the training loop says which step begins: --call-steps, --tag-steps. */
#ifndef SIM_WORKLOAD_TRAINING_STEP_CALL_H
#define SIM_WORKLOAD_TRAINING_STEP_CALL_H

#include "sim/workload/job/options.h"

/* step: counted from 1. */
void step_call(const struct options *options, int rank, int step);

#endif
