/* SPDX-License-Identifier: MIT */
/*
 * Runs one rank's list of a pipeline schedule: computation on its stream; sends and receives that stand beside each
 * other in the list as one group (batch_isend_irecv) on the pipeline group's communicator and a stream of its own, or,
 * with pair communicators, one by one, each on the communicator of its two ranks (isend, irecv). The host waits for
 * none.
 */
#ifndef SIM_WORKLOAD_MODEL_PIPELINE_H
#define SIM_WORKLOAD_MODEL_PIPELINE_H

#include "sim/workload/model/model.h"
#include "sim/workload/model/schedule.h"

struct activation;

struct pipeline {
	struct training *training;
	struct model *model;
	struct process_group *group;
	struct process_group *pairs[MESH_RANKS_MAX]; /* by rank of the pipeline; NULL until it is needed */
	struct schedule schedule, forward;
	int passes; /* of the schedule's micro-batches in a step: gradients accumulate over all of them */
	struct activation *activations; /* by local stage, micro-batch and direction */
	CUstream exchange;
	CUevent order;
};

/* -EINVAL: the schedule does not fit the number of ranks or micro-batches. */
int pipeline_open(struct pipeline *pipeline, struct training *training, struct model *model);
void pipeline_close(struct pipeline *pipeline);

void pipeline_train(struct pipeline *pipeline);
void pipeline_evaluate(struct pipeline *pipeline);

#endif
