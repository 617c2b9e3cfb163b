/* SPDX-License-Identifier: MIT */
/* One rank's training, step by step: its model, in a pipeline or not, and what goes on around the two passes. */
#ifndef SIM_WORKLOAD_TRAINING_TRAINER_H
#define SIM_WORKLOAD_TRAINING_TRAINER_H

#include <stdint.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/model/model.h"
#include "sim/workload/model/pipeline.h"
#include "sim/workload/training/graph_step.h"
#include "sim/workload/training/training.h"

enum {
	TRAINER_NORM_GROUPS = 5,
	TRAINER_METRICS = 4, /* of an evaluation */
};

struct trainer {
	struct training training;
	struct model model;
	bool pipelined;
	struct pipeline pipeline;
	struct graph_step graph;
	struct process_group *world, *loss;
	struct process_group *norms[TRAINER_NORM_GROUPS]; /* NCCL sums the gradients' norm over these, one by one */
	int norm_count;
	CUdeviceptr scalars; /* one for each rank */
	CUevent synced;
};

/* Ends the process with a message when NCCL or the GPU fails. 0 or -errno. */
int trainer_open(struct trainer *trainer, const struct options *options, const struct mesh *mesh, int rank,
		 int local_rank, struct store *store, struct fault *fault);
void trainer_close(struct trainer *trainer);

/* Enqueues step `step` (from 1). extra_us: how much longer (or shorter) this rank computes in it; GPU_FOR_EVER. */
void trainer_enqueue_step(struct trainer *trainer, int step, int extra_us);
/* Waits until the GPU has finished the step, then checks what it left. 0, or -EILSEQ (said on stderr): wrong data. */
int trainer_finish_step(struct trainer *trainer, int step);
/* The digest of all ranks' results so far: equal for equal options, whatever happened to the times. */
uint64_t trainer_job_digest(struct trainer *trainer);

#endif
