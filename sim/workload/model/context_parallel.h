/* SPDX-License-Identifier: MIT */
/*
 * A sequence spread over a group: attention needs everybody's keys and values. Either one AllGather of them, out of
 * place, on the stream of computation (backward: a ReduceScatter of their gradients); or a ring, in which each rank
 * computes with one part while it passes that part on, by a Send and a Recv on a stream of their own.
 */
#ifndef SIM_WORKLOAD_MODEL_CONTEXT_PARALLEL_H
#define SIM_WORKLOAD_MODEL_CONTEXT_PARALLEL_H

#include <stdbool.h>

#include "sim/workload/training/training.h"

struct context_parallel {
	struct training *training;
	struct process_group *group;
	CUdeviceptr part, whole, sum, parts[2]; /* parts: of the ring, in turn */
	CUstream ring;
	CUevent computed, passed;
};

void context_parallel_open(struct context_parallel *cp, struct training *training, struct process_group *group);
void context_parallel_close(struct context_parallel *cp);

/* The attention of one layer, which computes for `us` in all; `index` of `count` in the step. */
void context_parallel_attend(struct context_parallel *cp, int us, bool backward, int index, int count);

#endif
