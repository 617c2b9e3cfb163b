/* SPDX-License-Identifier: MIT */
/* What all parts of one rank's training share: its GPU, its groups, the values and their checks, the current step. */
#ifndef SIM_WORKLOAD_TRAINING_TRAINING_H
#define SIM_WORKLOAD_TRAINING_TRAINING_H

#include "sim/workload/job/mesh.h"
#include "sim/workload/job/options.h"
#include "sim/workload/job/process_group.h"
#include "sim/workload/training/autograd.h"
#include "sim/workload/training/checks.h"
#include "sim/workload/training/gpu.h"
#include "sim/workload/training/noise.h"
#include "sim/workload/training/traffic.h"
#include "sim/workload/training/values.h"

struct training {
	const struct options *options;
	const struct parallel *parallel;
	struct mesh mesh;
	int rank;
	struct gpu gpu;
	struct process_groups groups;
	struct values values;
	struct checks checks;
	struct traffic traffic; /* only with a fault in the data */
	struct autograd *autograd;
	int step;
	int extra_us; /* what the GPU still computes longer, or shorter, in this step; GPU_FOR_EVER */
	struct noise noise;
	bool in_tensor_parallel; /* what is computed next is split over such ranks */
};

/* Ends the process with a message when the GPU fails. 0 or -errno. */
int training_open(struct training *training, const struct options *options, const struct mesh *mesh, int rank,
		  int local_rank, struct store *store);
void training_close(struct training *training);

/* Keeps the compute stream busy. */
void training_compute(struct training *training, int us);
/* This rank's values for a site, on the GPU: the copy-in that PyTorch makes with a kernel. */
void training_fill(struct training *training, CUdeviceptr to, enum values_type type, int site, size_t first,
		   size_t elements, CUstream stream);

#endif
