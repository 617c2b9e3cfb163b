/* SPDX-License-Identifier: MIT */
/*
 * The part of a step that runs as a CUDA graph, as torch.cuda.make_graphed_callables() makes it: computation and
 * AllReduces of the world, captured once, replayed in each step behind copies into its static inputs.
 */
#ifndef SIM_WORKLOAD_TRAINING_GRAPH_STEP_H
#define SIM_WORKLOAD_TRAINING_GRAPH_STEP_H

#include "sim/workload/training/training.h"

enum { GRAPH_STEP_CALLS = 4 };

struct graph_step {
	struct training *training;
	struct process_group *group;
	size_t elements;
	CUdeviceptr buffers[GRAPH_STEP_CALLS];
	CUgraphExec exec; /* NULL: there is none */
};

/* Captures; all ranks of the group together, because it may have to make the communicator first. */
void graph_step_open(struct graph_step *step, struct training *training, struct process_group *group);
/* Before the communicator goes, which waits for its graphs. */
void graph_step_close(struct graph_step *step);
/* Enqueues one replay on the compute stream. Each step checks what it reduced. */
void graph_step_replay(struct graph_step *step);

#endif
