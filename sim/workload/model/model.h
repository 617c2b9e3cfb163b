/* SPDX-License-Identifier: MIT */
/* A rank's part of the model: its layers, and what each parallelism adds to using one forward and backward. */
#ifndef SIM_WORKLOAD_MODEL_MODEL_H
#define SIM_WORKLOAD_MODEL_MODEL_H

#include <stdbool.h>

#include "sim/workload/model/context_parallel.h"
#include "sim/workload/model/ddp.h"
#include "sim/workload/model/expert_parallel.h"
#include "sim/workload/model/fsdp.h"
#include "sim/workload/model/tensor_parallel.h"
#include "sim/workload/training/training.h"

struct model {
	struct training *training;
	int stages, stage_layers, passes; /* stages on this rank; passes: micro-batches through each in a step */
	int forward_us;			  /* of one layer and micro-batch */
	bool replicated;		  /* DDP, not FSDP */
	bool mixture;			  /* each second layer is a mixture of experts */
	struct fsdp dense, experts;
	struct ddp ddp;
	struct tensor_parallel tp;
	struct context_parallel cp;
	struct expert_parallel ep;
};

/* One micro-batch through one of the rank's stages. */
struct pass {
	int stage, number; /* both from 0; number: which micro-batch of the step */
	bool reduces;	   /* gradients are complete behind it */
};

enum backward_part { BACKWARD_INPUT = 1, BACKWARD_WEIGHTS = 2, BACKWARD_BOTH = 3 };

/* passes: micro-batches of a step. */
void model_open(struct model *model, struct training *training, int stages, int passes);
void model_close(struct model *model);

void model_forward(struct model *model, const struct pass *pass);
/* Enqueued by the autograd thread; returns when it has done so. */
void model_backward(struct model *model, const struct pass *pass, enum backward_part part);
/* The computation waits for all gradients. */
void model_end_step(struct model *model);

#endif
