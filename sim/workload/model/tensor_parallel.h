/* SPDX-License-Identifier: MIT */
/*
 * A layer's computation split over a group, on the stream of computation. With sequence parallel (TorchTitan's plan) an
 * AllGather before each half of a layer and a ReduceScatter behind it, out of place; without it an AllReduce behind it,
 * in place on a copy. Backward makes the same calls. The loss is parallel, too: the largest and the sum, a few numbers.
 */
#ifndef SIM_WORKLOAD_MODEL_TENSOR_PARALLEL_H
#define SIM_WORKLOAD_MODEL_TENSOR_PARALLEL_H

#include "sim/workload/training/training.h"

struct tensor_parallel {
	struct training *training;
	struct process_group *group;
	CUdeviceptr part, whole, partial, sum;
};

void tensor_parallel_open(struct tensor_parallel *tp, struct training *training, struct process_group *group);
void tensor_parallel_close(struct tensor_parallel *tp);

/* Around each half of a layer; `index` tells the calls of a step apart, `count` is how many there are. */
void tensor_parallel_enter(struct tensor_parallel *tp, int index, int count);
void tensor_parallel_leave(struct tensor_parallel *tp, int index, int count);
void tensor_parallel_loss(struct tensor_parallel *tp);

#endif
