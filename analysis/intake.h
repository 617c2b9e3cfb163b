/* SPDX-License-Identifier: MIT */
/* Operation slots → instances: checks them and finds their place. */
#ifndef ANALYSIS_INTAKE_H
#define ANALYSIS_INTAKE_H

#include "analysis/analysis.h"
#include "analysis/instances.h"

/* 0 or -EINVAL. */
int intake_operation(struct analysis *analysis, struct process *process, const struct rw_operation *slot);
/* What the slot is an instance of; for a p2p operation its peer has to be known. */
struct instance_key intake_key(const struct seat *seat, const struct rw_operation *slot);
/* The first rank says what the instance is. */
void intake_describe(struct instance *instance, const struct rw_operation *slot);

#endif
