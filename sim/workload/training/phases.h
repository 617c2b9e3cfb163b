/* SPDX-License-Identifier: MIT */
/* What all ranks do between two steps now and then, without NCCL: they collect garbage, they write a checkpoint. */
#ifndef SIM_WORKLOAD_TRAINING_PHASES_H
#define SIM_WORKLOAD_TRAINING_PHASES_H

#include "sim/workload/job/parallel.h"

struct phases {
	const struct parallel *parallel;
	struct checkpointer *checkpointer;
};

/* 0 or -errno. */
int phases_open(struct phases *phases, const struct parallel *parallel);
void phases_close(struct phases *phases);
/* Behind step `step`. */
void phases_run(struct phases *phases, int step);

#endif
