/* SPDX-License-Identifier: MIT */
/* Operation slots → instances: checks them, finds their place, and notices when an instance is complete. */
#ifndef ANALYSIS_INTAKE_H
#define ANALYSIS_INTAKE_H

#include "analysis/analysis.h"
#include "analysis/job.h"

/* 0 or -EINVAL. */
int intake_operation(struct analysis *analysis, struct process *process, const struct rw_operation *slot);
/* Finishes what is complete because a rank ended its communicator or went past it. */
void intake_sweep(struct analysis *analysis);

#endif
