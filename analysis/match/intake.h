/* SPDX-License-Identifier: MIT */
/* Operation slots → instances: checks them and finds their place. */
#ifndef ANALYSIS_MATCH_INTAKE_H
#define ANALYSIS_MATCH_INTAKE_H

#include "analysis/analysis.h"
#include "analysis/known/instances.h"

/* 0 or -EINVAL. */
int intake_operation(struct analysis *analysis, struct process *process, const struct rw_operation *slot);

#endif
