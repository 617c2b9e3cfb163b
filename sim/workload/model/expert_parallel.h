/* SPDX-License-Identifier: MIT */
/*
 * A mixture of experts spread over a group, as TorchTitan's token dispatcher does it: the ranks say to each other how
 * many tokens will come, the host waits for that, then the tokens go to their experts and back, each time as one group
 * of unequal Sends and Recvs, one for each rank, oneself included. Which experts are popular changes from step to
 * step.
 */
#ifndef SIM_WORKLOAD_MODEL_EXPERT_PARALLEL_H
#define SIM_WORKLOAD_MODEL_EXPERT_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "sim/workload/training/training.h"

struct expert_parallel {
	struct training *training;
	struct process_group *group;
	CUdeviceptr sizes_out, sizes_in, tokens_out, tokens_in;
	int64_t *sizes; /* pinned: ours to each rank, then each rank's to us */
	CUevent sized;
	size_t to[MESH_RANKS_MAX], from[MESH_RANKS_MAX]; /* elements, of the current layer */
};

void expert_parallel_open(struct expert_parallel *ep, struct training *training, struct process_group *group);
void expert_parallel_close(struct expert_parallel *ep);

/* The experts of one layer, which compute for `us` when tokens are spread evenly; `index` of `count` in the step. */
void expert_parallel_forward(struct expert_parallel *ep, int us, int index, int count);
/* The same in reverse, for the forward pass with this index; sizes are known. */
void expert_parallel_backward(struct expert_parallel *ep, int us, int index, int count);

#endif
