/* SPDX-License-Identifier: MIT */
/*
 * A pipelined job whose buffers are scanned: stages of some ranks each, 1F1B, so that the earlier a stage, the more
 * forward passes it makes before its first backward one. Each rank calls in its own order; a receive waits for its
 * send. What is sent backwards is sent by the training loop's thread, as PyTorch does.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_PIPELINED_H
#define TESTS_UNIT_ANALYSIS_JOBS_PIPELINED_H

#include "tests/unit/analysis/jobs/scanned.h"

enum { PIPELINED_STAGES = 8 };

struct pipelined_job {
	int stages, width, microbatches, layers; /* width: ranks of a stage */
	bool sharded;                            /* stages gather parameters and scatter gradients */
	bool norm;                               /* over all stages */
	bool loss;                               /* over each stage */
	bool barrier;                            /* of all ranks, before and behind the first step */
	bool lazy;                               /* communicators are made when they are first called */
	int without_number; /* stage + 1 whose first step ends without a number; 0: all stages are alike */
};

struct pipelined {
	struct scanned job;
	struct pipelined_job is;
	int world, fsdp[PIPELINED_STAGES], pipes[SCANNED_RANKS]; /* communicators + 1; 0: not made yet */
	uint64_t sent[SCANNED_RANKS][2], received[SCANNED_RANKS][2];
	int step;
};

void pipelined_start(struct pipelined *pipelined, const struct pipelined_job *job);
void pipelined_step(struct pipelined *pipelined);

#endif
