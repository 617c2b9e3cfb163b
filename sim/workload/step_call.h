/* SPDX-License-Identifier: MIT */
/* How the training loop says which step begins: --call-steps, --tag-steps. */
#ifndef WORKLOAD_STEP_CALL_H
#define WORKLOAD_STEP_CALL_H

#include "sim/workload/options.h"

/* step: counted from 1. */
void step_call(const struct options *options, int rank, int step);

#endif
