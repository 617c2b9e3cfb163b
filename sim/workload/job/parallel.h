/* SPDX-License-Identifier: MIT */
/* How the job is spread over its ranks and what its steps are made of: the part of the command line that says so. */
#ifndef SIM_WORKLOAD_JOB_PARALLEL_H
#define SIM_WORKLOAD_JOB_PARALLEL_H

#include <argp.h>
#include <stdbool.h>

#include "sim/workload/job/mesh.h"

struct schedule_kind;

struct parallel {
	bool meshed; /* --mesh was given; else all ranks are one dimension, fsdp */
	struct mesh mesh;
	const struct schedule_kind *schedule;
	int stages_per_rank; /* 0: as many as the schedule needs at least */
	int microbatches;    /* that go through the pipeline together */
	int accumulate;	     /* forward and backward passes in a step, before gradients are reduced */
	bool eager;	     /* communicators are made at start */
	bool names;	     /* communicators get names */
	bool pairs;	     /* each two neighbours of a pipeline have a communicator */
	bool sequence;	     /* tensor parallelism shards sequences, too */
	int outside_tp;	     /* percent of a layer that tensor parallelism does not split */
	bool ring;	     /* context parallelism passes keys and values round */
	bool graphs;	     /* a part of each step is a CUDA graph */
	int gc_every, evaluate_every, checkpoint_every; /* steps; 0 never */
};

/* The command line's child parser; its input is a struct parallel, which it fills with defaults. */
extern const struct argp parallel_argp;

/* The mesh over this many ranks. NULL, or what is wrong. */
const char *parallel_mesh(const struct parallel *parallel, int ranks, struct mesh *mesh);

#endif
