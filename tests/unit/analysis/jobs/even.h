/* SPDX-License-Identifier: MIT */
/*
 * Jobs of many operations with little work in between, as tensor parallelism makes them, and replicas of a pipeline:
 * what no single operation shows. Each rank's plugin looks at its GPU in a phase of its own. Shares nothing with
 * analysis/.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_EVEN_H
#define TESTS_UNIT_ANALYSIS_JOBS_EVEN_H

#include <stdbool.h>

/* Shares are of compute_ms. */
struct even_job {
	int ranks;
	int tensor_parallel; /* ranks of a group; 0: all. The groups reduce together at the end of a step */
	int stages;	     /* more than 1: a pipeline, of as many ranks; the replicas reduce together at the end of a step */
	int operations;      /* in a step; of a pipeline: micro-batches */
	bool no_steps;       /* nothing but the operations, of sizes that never repeat */
	double compute_ms;   /* before each */
	double jitter;       /* uniform, drawn anew before each */
	double noise, lasts; /* standard deviation of a rank's noise in a step, and how much of it is left in the next */
	double differences;  /* ranks differ for good by up to this, either way */
	double uneven;       /* so much longer takes the last stage than the first */
	int slow_rank;       /* -1 none */
	double slow;         /* by this share, always */
	int stall_every;     /* before one operation in so many … */
	double stall_ms;     /* … its host does something else for so long; */
	int stall_device;    /* of so many of these one is its GPU's, and the host has launched before; 0: as `host` says */
	bool host;           /* the host launches each when the GPU has ended the one before; else it runs ahead */
	int starved_rank;    /* 1 + the rank whose plugin gets no CPU while an operation is under way; 0 none */
	int sampled;         /* of one operation in so many there is GPU progress; 0: of all */
	double seconds;
	unsigned seed;
};

struct even_result {
	int found, wrong; /* findings (warning and above) of the slow rank, and of others */
	double found_s;   /* after the start; the first */
	double share;     /* that was told last */
	int late_kind;    /* enum rw_late_kind; likewise */
	bool spread_out, likely;
	int wrong_rank;
	char text[256], wrong_text[256];
};

void even_play(const struct even_job *job, struct even_result *result);

#endif
