/* SPDX-License-Identifier: MIT */
/* When an instance is complete on all its ranks, it is finished: its lateness is judged and counted. */
#ifndef ANALYSIS_MATCH_COMPLETION_H
#define ANALYSIS_MATCH_COMPLETION_H

#include "analysis/analysis.h"
#include "analysis/known/instances.h"

/* Counts a judged instance at its place in the step. */
void completion_account(struct analysis *analysis, struct instance *instance);
/* Finishes the instance if it is complete and all ranks of its communicator are seen. */
void completion_check(struct analysis *analysis, struct instance *instance);
/* Finishes what is complete because a rank ended its communicator or went past it. */
void completion_sweep(struct analysis *analysis);

#endif
