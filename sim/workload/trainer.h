/* SPDX-License-Identifier: MIT */
/* One rank's part of FSDP2-like training: buffers, events, and what one step enqueues. */
#ifndef WORKLOAD_TRAINER_H
#define WORKLOAD_TRAINER_H

#include <stdint.h>

#include <nccl.h>

#include "gpu.h"
#include "options.h"

enum {
	TRAINER_PREFETCH = 2,			 /* layers gathered ahead of the computation */
	TRAINER_GATHERED = TRAINER_PREFETCH + 1, /* buffers for gathered layers */
};

/* What one step leaves for the host, in pinned memory. */
struct step_result {
	float *norm_in, *norm_out;
	uint16_t *gathered; /* of one layer, only in steps that are verified */
	float *reduced;
	CUevent done;
};

struct trainer {
	const struct options *options;
	struct gpu gpu;
	ncclComm_t comm;
	int rank, ranks;

	uint16_t *parameters; /* pinned pattern tables; a step copies its part in */
	float *gradients;
	CUdeviceptr gathered[TRAINER_GATHERED]; /* whole layers: in place AllGather, as FSDP2 */
	CUevent gathered_ready[TRAINER_GATHERED], gathered_used[TRAINER_GATHERED];
	CUdeviceptr scatter_input, reduced, norm;
	CUevent scattered;
	struct step_result *results; /* run_ahead + 1, used in turn */
	uint64_t digest;
};

/* Ends the process with a message when NCCL or the GPU fails. */
void trainer_open(struct trainer *trainer, const struct options *options, int rank, int ranks, int local_rank,
		  const ncclUniqueId *id);
void trainer_close(struct trainer *trainer);

/* Enqueues step `step` (from 1). extra_us: how much longer (or shorter) this rank computes in it. */
void trainer_enqueue_step(struct trainer *trainer, int step, int extra_us);
/* Waits until the GPU has finished the step, then checks what it left. 0, or -EILSEQ (said on stderr): wrong data. */
int trainer_finish_step(struct trainer *trainer, int step);
/* The digest of all ranks' results so far: equal for equal options, whatever happened to the times. */
uint64_t trainer_job_digest(struct trainer *trainer);

#endif
