/* SPDX-License-Identifier: MIT */
/*
 * Replicated parameters, as DistributedDataParallel does it: gradients lie in buckets, and each bucket is reduced in
 * place, beside the rest of the backward pass, as soon as all its layers are done.
 */
#ifndef SIM_WORKLOAD_MODEL_DDP_H
#define SIM_WORKLOAD_MODEL_DDP_H

#include "sim/workload/training/training.h"

struct ddp {
	struct training *training;
	struct process_group *group;
	int layer_count, stage_layers; /* buckets do not span stages: each is a module of its own */
	CUdeviceptr gradients; /* of all layers; buckets are views of it */
	CUstream reduce;
	CUevent computed, reduced;
};

void ddp_open(struct ddp *ddp, struct training *training, struct process_group *group, int layer_count,
	      int stage_layers);
void ddp_close(struct ddp *ddp);

/* The layer's gradients are there; layers come from the last to the first. */
void ddp_reduce(struct ddp *ddp, int layer);
/* The computation waits for all buckets. */
void ddp_end_step(struct ddp *ddp);

#endif
