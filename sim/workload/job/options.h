/* SPDX-License-Identifier: MIT */
/* What one run of the workload does, from its command line and environment. */
#ifndef SIM_WORKLOAD_JOB_OPTIONS_H
#define SIM_WORKLOAD_JOB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/workload/job/parallel.h"
#include "sim/workload/training/values.h"

struct argp_state;
struct fault_kind;

struct options {
	int ranks; /* started by our own launcher */
	int hosts; /* that they claim, in blocks of ranks; 0 = the one that they are on */
	/* each host's ranks record in a directory of their own below this one; NULL: as the environment says */
	const char *box_dirs;
	int layers;
	size_t elements; /* of one layer's parameters on one rank */
	enum values_type gradients; /* what they are reduced in */
	bool fp8_allgather;	    /* parameters are gathered in fp8, else in bf16 */
	int step_ms;	 /* GPU time of one step */
	int steps;
	int host_ms;   /* CPU time of one step's data loading on the host */
	double spread, noise; /* of computation, see noise.h */
	int threads;	      /* that do nothing, on each rank */
	unsigned int host_waits; /* for its GPU: CU_CTX_SCHED_… */
	int run_ahead; /* steps that the host may be ahead of its GPU */
	int limit_s;   /* the launcher ends the job then; 0 = never */
	int grace_s;   /* how long the launcher lets the others run once a rank has failed */
	long first_call, first_tag; /* numbers by which it says that its first step begins; -1: it does not */
	int step_rank; /* that says so; -1: all */

	struct parallel parallel;

	const struct fault_kind *fault; /* never NULL: "none" is a kind */
	int fault_rank, fault_ranks; /* the first one, and how many from it on */
	int fault_step; /* counted from 1 */
	int fault_every; /* steps from one to the next */
	double fault_slower; /* by this share a GPU that is slower in everything is so; 0: as its kind says */
	int fault_ms; /* how long it takes each time; 0: as long as its kind says */
	int hogs; /* processes that crowd a CPU */
	size_t fault_index; /* element of a buffer, modulo how many it has */
	const char *log_dir; /* NULL: metrics are not logged */
	size_t log_bytes;    /* what one late step logs */
	const char *events;  /* NULL: no fault log */
};

/* Exits with 2 on misuse, 0 after --help. */
void options_parse(struct options *options, int argc, char **argv);

/* Which of --hosts a rank claims, counted from 0. */
int options_host_of(const struct options *options, int rank);
/* A decimal environment variable within [low, high]; -1 when unset, empty, or anything else. */
int options_environment_number(const char *name, int low, int high);

#endif
