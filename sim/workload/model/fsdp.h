/* SPDX-License-Identifier: MIT */
/*
 * Parameters sharded over a group, as FSDP2 does it: an in-place AllGather (bf16 or fp8) before a layer is used, on a
 * stream of its own and a few layers ahead; a ReduceScatter of its gradients, out of place, on another stream. HSDP
 * adds an in-place AllReduce of what that leaves, over the replicas, on a third.
 */
#ifndef SIM_WORKLOAD_MODEL_FSDP_H
#define SIM_WORKLOAD_MODEL_FSDP_H

#include <stdbool.h>

#include "sim/workload/training/training.h"

enum { FSDP_PREFETCH = 2 /* layers gathered ahead of the computation */ };

struct fsdp_layer {
	CUdeviceptr whole;
	CUevent ready, used;
	bool gathered;
};

struct fsdp {
	struct training *training;
	struct process_group *shard, *replicas;
	int site;      /* tells two of these apart */
	bool reshard;  /* after each use; else at the end of the step, as TorchTitan does in a pipeline */
	int layer_count;
	struct fsdp_layer *layers;
	int uses[FSDP_PREFETCH + 1]; /* the latest layers used: no more are whole at a time */
	unsigned int use_count;
	CUstream gather, scatter, reduce;
	CUevent computed, scattered, reduced;
	CUdeviceptr scatter_input, gradients;
	int sources; /* of a gradient: the ranks of both groups */
	int source_ranks[MESH_RANKS_MAX];
};

/* What one of two groups of one rank would do is left out. */
void fsdp_open(struct fsdp *fsdp, struct training *training, struct process_group *shard,
	       struct process_group *replicas, int layer_count, int site, bool reshard);
void fsdp_close(struct fsdp *fsdp);

/* Gathers the layer unless it is whole. */
void fsdp_gather(struct fsdp *fsdp, int layer);
/* The computation waits for the layer; then, behind the computation, its memory may be used again. */
void fsdp_use(struct fsdp *fsdp, int layer);
void fsdp_leave(struct fsdp *fsdp, int layer);
/* The layer's gradients are there. */
void fsdp_reduce(struct fsdp *fsdp, int layer);
/* The computation waits for everything. */
void fsdp_end_step(struct fsdp *fsdp);

#endif
