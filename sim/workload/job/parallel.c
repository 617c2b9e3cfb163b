/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/parallel.h"

#include <limits.h>
#include <stdlib.h>

#include "sim/workload/job/argument.h"
#include "sim/workload/model/schedule.h"

enum {
	KEY_MESH = 0x300, KEY_SCHEDULE, KEY_STAGES, KEY_MICROBATCHES, KEY_ACCUMULATE, KEY_EAGER, KEY_NAMES, KEY_PAIRS,
	KEY_NO_SEQUENCE, KEY_OUTSIDE_TP, KEY_RING, KEY_GRAPHS, KEY_GC, KEY_EVALUATE, KEY_CHECKPOINT,
};

enum { BATCHES_MAX = 64 };

static const struct argp_option options[] = {
	{ "mesh", KEY_MESH, "DIM=N,…", 0,
	  "Ranks by dimension: pp, dp_replicate (or ddp), fsdp, cp, tp, ep (fsdp=RANKS)", 0 },
	{ "pp-schedule", KEY_SCHEDULE, "KIND", 0, "1f1b, gpipe, interleaved or zbv (1f1b)", 0 },
	{ "pp-stages", KEY_STAGES, "N", 0, "Stages on each rank, for interleaved (2)", 0 },
	{ "pp-pairs", KEY_PAIRS, NULL, 0,
	  "Plain send and recv on a communicator of each pair, instead of batches on the group's", 0 },
	{ "microbatches", KEY_MICROBATCHES, "N", 0, "Micro-batches in the pipeline (8)", 0 },
	{ "accumulate", KEY_ACCUMULATE, "N", 0, "Passes in a step; gradients are reduced in the last (1)", 0 },
	{ "eager", KEY_EAGER, NULL, 0, "Make communicators at start, by splitting, instead of when they are needed",
	  0 },
	{ "names", KEY_NAMES, NULL, 0, "Give communicators names, as PyTorch has done since August 2026", 0 },
	{ "no-sequence-parallel", KEY_NO_SEQUENCE, NULL, 0, "tp: AllReduce instead of AllGather and ReduceScatter", 0 },
	{ "outside-tp", KEY_OUTSIDE_TP, "PERCENT", 0,
	  "tp: so much of a layer is computed before it, each rank for itself (0)", 0 },
	{ "cp-ring", KEY_RING, NULL, 0, "cp: a ring of Send and Recv instead of AllGather", 0 },
	{ "graphs", KEY_GRAPHS, NULL, 0, "A part of each step, with collectives, is a CUDA graph captured at start",
	  0 },
	{ "gc-every", KEY_GC, "N", 0, "All ranks collect garbage every N steps (0: never)", 0 },
	{ "evaluate-every", KEY_EVALUATE, "N", 0, "Forward passes alone every N steps (0: never)", 0 },
	{ "checkpoint-every", KEY_CHECKPOINT, "N", 0, "All ranks pause for a checkpoint every N steps (0: never)", 0 },
	{ 0 },
};

static error_t parse_flag(int key, struct parallel *parallel)
{
	switch (key) {
	case KEY_EAGER:
		parallel->eager = true;
		return 0;
	case KEY_NAMES:
		parallel->names = true;
		return 0;
	case KEY_PAIRS:
		parallel->pairs = true;
		return 0;
	case KEY_NO_SEQUENCE:
		parallel->sequence = false;
		return 0;
	case KEY_RING:
		parallel->ring = true;
		return 0;
	case KEY_GRAPHS:
		parallel->graphs = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_number(int key, const char *text, struct parallel *parallel, const struct argp_state *state)
{
	switch (key) {
	case KEY_STAGES:
		parallel->stages_per_rank = argument_number(text, 1, 8, state);
		return 0;
	case KEY_MICROBATCHES:
		parallel->microbatches = argument_number(text, 1, BATCHES_MAX, state);
		return 0;
	case KEY_ACCUMULATE:
		parallel->accumulate = argument_number(text, 1, BATCHES_MAX, state);
		return 0;
	case KEY_OUTSIDE_TP:
		parallel->outside_tp = argument_number(text, 0, 99, state);
		return 0;
	case KEY_GC:
		parallel->gc_every = argument_number(text, 0, INT_MAX, state);
		return 0;
	case KEY_EVALUATE:
		parallel->evaluate_every = argument_number(text, 0, INT_MAX, state);
		return 0;
	case KEY_CHECKPOINT:
		parallel->checkpoint_every = argument_number(text, 0, INT_MAX, state);
		return 0;
	}
	return parse_flag(key, parallel);
}

/* A table is made for trial, so that what does not fit is said before any rank starts. */
static void check_schedule(const struct parallel *parallel, const struct argp_state *state)
{
	struct schedule schedule;
	int ranks = parallel->meshed ? parallel->mesh.sizes[MESH_PP] : 1;

	if (ranks > 1 && schedule_make(&schedule, parallel->schedule, ranks, parallel->stages_per_rank,
				       parallel->microbatches))
		argp_error(state, "the schedule %s does not fit pp=%d with %d micro-batches (interleaved needs a "
				  "multiple of pp) or this number of stages on a rank",
			   parallel->schedule->name, ranks, parallel->microbatches);
	else if (ranks > 1)
		schedule_close(&schedule);
}

static void parse_mesh(const char *text, struct parallel *parallel, const struct argp_state *state)
{
	const char *wrong = mesh_parse(&parallel->mesh, text);

	if (wrong)
		argp_error(state, "'%s' is no mesh: %s", text, wrong);
	parallel->meshed = true;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct parallel *parallel = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*parallel = (struct parallel){ .schedule = &schedule_1f1b, .microbatches = 8, .accumulate = 1,
					       .sequence = true };
		return 0;
	case ARGP_KEY_END:
		check_schedule(parallel, state);
		return 0;
	case KEY_MESH:
		parse_mesh(text, parallel, state);
		return 0;
	case KEY_SCHEDULE:
		parallel->schedule = schedule_kind_find(text);
		if (!parallel->schedule)
			argp_error(state, "no pipeline schedule is called '%s': 1f1b, gpipe, interleaved, zbv", text);
		return 0;
	}
	return parse_number(key, text, parallel, state);
}

const struct argp parallel_argp = { .options = options, .parser = parse };

const char *parallel_mesh(const struct parallel *parallel, int ranks, struct mesh *mesh)
{
	if (!parallel->meshed && ranks > MESH_RANKS_MAX)
		return "the job has more than 64 ranks";
	if (!parallel->meshed)
		mesh_of_fsdp(mesh, ranks);
	else if (mesh_ranks(&parallel->mesh) != ranks)
		return "the mesh has another number of ranks than the job";
	else
		*mesh = parallel->mesh;
	return NULL;
}
