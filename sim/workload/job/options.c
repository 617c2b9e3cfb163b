/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/options.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/job/argument.h"

enum { RANKS = 8, LONGEST_FAULT_MS = 60000, MOST_HOGS = 256 };

enum {
	KEY_LAYERS = 0x100, KEY_ELEMENTS, KEY_STEP_MS, KEY_STEPS, KEY_HOST_MS, KEY_HOST_WAITS, KEY_SPREAD, KEY_NOISE,
	KEY_THREADS, KEY_RUN_AHEAD, KEY_LIMIT, KEY_GRACE,
	KEY_HOSTS, KEY_BOX_DIRS, KEY_GRADIENTS, KEY_FP8_ALLGATHER, KEY_FAULT, KEY_FAULT_INDEX, KEY_FAULT_RANK,
	KEY_FAULT_STEP, KEY_FAULT_EVERY, KEY_FAULT_MS, KEY_FAULT_RANKS, KEY_FAULT_PERCENT, KEY_HOGS, KEY_LOG_DIR,
	KEY_LOG_BYTES, KEY_EVENTS,
	KEY_CALL_STEPS, KEY_TAG_STEPS, KEY_STEP_RANK,
};

static const struct argp_option argp_options[] = {
	{ "ranks", 'n', "N", 0, "Ranks to start when RANK is not in the environment (8, or those of --mesh)", 1 },
	{ "hosts", KEY_HOSTS, "N", 0, "Hosts that the started ranks claim, in blocks of equal size (the real one)", 1 },
	{ "box-dirs", KEY_BOX_DIRS, "DIR", 0,
	  "With --hosts: the ranks of each record in DIR/host-N (RANKWATCH_DIR), as each host has memory of its own",
	  1 },
	{ "layers", KEY_LAYERS, "N", 0, "Layers of the model (6)", 1 },
	{ "elements", KEY_ELEMENTS, "N", 0, "Parameters of one layer on one rank (16384)", 1 },
	{ "gradients", KEY_GRADIENTS, "TYPE", 0, "Reduce them as float32, bfloat16 or float16 (float32)", 1 },
	{ "fp8-allgather", KEY_FP8_ALLGATHER, NULL, 0, "fsdp: gather parameters as fp8 (e4m3), not bf16", 1 },
	{ "step-ms", KEY_STEP_MS, "MS", 0, "GPU time of one step (700)", 1 },
	{ "steps", KEY_STEPS, "N", 0, "Steps to train (20)", 1 },
	{ "host-ms", KEY_HOST_MS, "MS", 0, "CPU time of loading one step's data (3)", 1 },
	{ "host-waits", KEY_HOST_WAITS, "HOW", 0, "How it waits for its GPU: auto, spin, yield or block (auto)", 1 },
	{ "spread", KEY_SPREAD, "PERCENT", 0,
	  "The last rank computes so much longer, always; those between, in proportion (0)", 1 },
	{ "noise", KEY_NOISE, "PERCENT", 0, "Each step computes so much longer on average, with a heavy tail (0)", 1 },
	{ "threads", KEY_THREADS, "N", 0, "Threads on each rank that do nothing (0)", 1 },
	{ "run-ahead", KEY_RUN_AHEAD, "N", 0, "Steps the host may be ahead of its GPU (0: waits for each step)", 1 },
	{ "limit", KEY_LIMIT, "S", 0, "End the job after S seconds with status 124 (0: never)", 1 },
	{ "call-steps", KEY_CALL_STEPS, "N", 0, "Call rankwatch_step() at the begin of each step, in the first with N",
	  1 },
	{ "tag-steps", KEY_TAG_STEPS, "N", 0,
	  "Attach the step's number to its NCCL calls, in the first N (the stand-in as NCCL 2.31)", 1 },
	{ "step-rank", KEY_STEP_RANK, "R", 0, "Only rank R does so (all)", 1 },
	{ "grace", KEY_GRACE, "S", 0, "Let the others run S seconds more once a rank has failed (0)", 1 },
	{ "fault", KEY_FAULT, "KIND", 0, "What goes wrong, see below (none)", 2 },
	{ "fault-rank", KEY_FAULT_RANK, "R", 0, "On which rank (0)", 2 },
	{ "fault-ranks", KEY_FAULT_RANKS, "N", 0, "And on the N - 1 ranks behind it: those of a host or a stage (1)",
	  2 },
	{ "fault-step", KEY_FAULT_STEP, "S", 0, "From which step on, counted from 1 (8)", 2 },
	{ "fault-every", KEY_FAULT_EVERY, "K", 0, "And from there on only in each K-th step (1)", 2 },
	{ "fault-ms", KEY_FAULT_MS, "MS", 0,
	  "For kinds that take a time: how long (what the kind says; WORKLOAD_FAULT_MS)", 2 },
	{ "fault-percent", KEY_FAULT_PERCENT, "P", 0,
	  "For the kinds gpu-even and gpu-tp: by how much its GPU computes longer (20)", 2 },
	{ "hogs", KEY_HOGS, "N", 0, "For the kind hog: processes that crowd the CPU (24; WORKLOAD_HOGS)", 2 },
	{ "fault-index", KEY_FAULT_INDEX, "K", 0, "At which element of a buffer, counted from 0 (4321)", 2 },
	{ "log-dir", KEY_LOG_DIR, "DIR", 0, "Where the fault's rank logs its metrics (WORKLOAD_LOG_DIR)", 2 },
	{ "log-bytes", KEY_LOG_BYTES, "N", 0, "What it logs in each step from the fault's on (2097152)", 2 },
	{ "events", KEY_EVENTS, "FILE", 0, "Append what was done to whom and when, as JSON lines (WORKLOAD_EVENTS)",
	  2 },
	{ 0 },
};

static enum values_type gradient_type(const char *text, const struct argp_state *state)
{
	static const struct {
		const char *name;
		enum values_type type;
	} types[] = { { "float32", VALUES_FLOAT }, { "bfloat16", VALUES_BF16_SUM }, { "float16", VALUES_FP16_SUM } };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].name, text))
			return types[i].type;
	argp_error(state, "gradients are not reduced as '%s', but as float32, bfloat16 or float16", text);
	return VALUES_FLOAT;
}

/* As a share. */
static double percentage(const char *text, const struct argp_state *state)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0 && percent <= 100))
		argp_error(state, "'%s' is not a percentage from 0 to 100", text);
	return percent / 100;
}

static unsigned int host_waits(const char *text, const struct argp_state *state)
{
	static const struct {
		const char *name;
		unsigned int flag;
	} ways[] = { { "auto", CU_CTX_SCHED_AUTO },
		     { "spin", CU_CTX_SCHED_SPIN },
		     { "yield", CU_CTX_SCHED_YIELD },
		     { "block", CU_CTX_SCHED_BLOCKING_SYNC } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, text))
			return ways[i].flag;
	argp_error(state, "a host does not wait by '%s', but by auto, spin, yield or block", text);
	return CU_CTX_SCHED_AUTO;
}

/* Options that are whole numbers and no more. */
static error_t parse_number(int key, const char *text, struct argp_state *state)
{
	struct options *options = state->input;
	const struct {
		int key, *number, low, high;
	} numbers[] = {
		{ 'n', &options->ranks, 1, 64 },
		{ KEY_HOSTS, &options->hosts, 1, 64 },
		{ KEY_LAYERS, &options->layers, 1, 64 },
		{ KEY_STEP_MS, &options->step_ms, 0, 3600000 },
		{ KEY_STEPS, &options->steps, 1, INT_MAX },
		{ KEY_HOST_MS, &options->host_ms, 0, 60000 },
		{ KEY_THREADS, &options->threads, 0, 4096 },
		{ KEY_RUN_AHEAD, &options->run_ahead, 0, 8 },
		{ KEY_LIMIT, &options->limit_s, 0, INT_MAX },
		{ KEY_GRACE, &options->grace_s, 0, INT_MAX },
		{ KEY_STEP_RANK, &options->step_rank, 0, INT_MAX },
		{ KEY_FAULT_RANK, &options->fault_rank, 0, INT_MAX },
		{ KEY_FAULT_RANKS, &options->fault_ranks, 1, 64 },
		{ KEY_FAULT_STEP, &options->fault_step, 1, INT_MAX },
		{ KEY_FAULT_EVERY, &options->fault_every, 1, INT_MAX },
		{ KEY_FAULT_MS, &options->fault_ms, 1, LONGEST_FAULT_MS },
		{ KEY_HOGS, &options->hogs, 1, MOST_HOGS },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].key == key) {
			*numbers[i].number = (int)argument_number(text, numbers[i].low, numbers[i].high, state);
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_training(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_BOX_DIRS:
		options->box_dirs = text;
		return 0;
	case KEY_ELEMENTS:
		options->elements = argument_number(text, 1, 64 << 20, state);
		return 0;
	case KEY_GRADIENTS:
		options->gradients = gradient_type(text, state);
		return 0;
	case KEY_FP8_ALLGATHER:
		options->fp8_allgather = true;
		return 0;
	case KEY_HOST_WAITS:
		options->host_waits = host_waits(text, state);
		return 0;
	case KEY_SPREAD:
		options->spread = percentage(text, state);
		return 0;
	case KEY_NOISE:
		options->noise = percentage(text, state);
		return 0;
	case KEY_CALL_STEPS:
		options->first_call = argument_number(text, 0, INT_MAX, state);
		return 0;
	case KEY_TAG_STEPS:
		options->first_tag = argument_number(text, 0, INT_MAX, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void settle_ranks(struct options *options, const struct argp_state *state)
{
	const struct parallel *parallel = &options->parallel;
	int ranks = parallel->meshed ? mesh_ranks(&parallel->mesh) : RANKS;

	if (!options->ranks)
		options->ranks = ranks;
	if (parallel->meshed && options->ranks != ranks)
		argp_error(state, "--mesh has %d ranks, --ranks says %d", ranks, options->ranks);
}

static error_t parse_fault(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_FAULT:
		options->fault = fault_kind_find(text);
		if (!options->fault)
			argp_error(state, "no fault is called '%s'", text);
		return 0;
	case KEY_FAULT_PERCENT:
		options->fault_slower = percentage(text, state);
		return 0;
	case KEY_FAULT_INDEX:
		options->fault_index = argument_number(text, 0, LONG_MAX, state);
		return 0;
	case KEY_LOG_DIR:
		options->log_dir = text;
		return 0;
	case KEY_LOG_BYTES:
		options->log_bytes = argument_number(text, 1, 1 << 30, state);
		return 0;
	case KEY_EVENTS:
		options->events = text;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->parallel;
		if (getenv("WORKLOAD_FAULT_MS"))
			options->fault_ms = argument_number(getenv("WORKLOAD_FAULT_MS"), 1, LONGEST_FAULT_MS, state);
		if (getenv("WORKLOAD_HOGS"))
			options->hogs = argument_number(getenv("WORKLOAD_HOGS"), 1, MOST_HOGS, state);
		return 0;
	case ARGP_KEY_END:
		settle_ranks(options, state);
		if (options->hosts > options->ranks)
			argp_error(state, "%d ranks cannot be on %d hosts", options->ranks, options->hosts);
		if (options->fault->whole_host && options->hosts < 2)
			argp_error(state, "the fault '%s' needs --hosts of two or more", options->fault->name);
		if (options->fault->logs && !options->log_dir)
			argp_error(state, "the fault '%s' needs --log-dir", options->fault->name);
		if (options->fault_rank >= options->ranks && !getenv("RANK"))
			argp_error(state, "there is no rank %d among %d", options->fault_rank, options->ranks);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	error_t err = parse_number(key, text, state);

	if (err == ARGP_ERR_UNKNOWN)
		err = parse_training(key, text, state);
	return err == ARGP_ERR_UNKNOWN ? parse_fault(key, text, state) : err;
}

/* argp appends what we return after the options: the kinds, from their table. */
static char *fault_list(int key, const char *text, void *input)
{
	(void)input;
	return key == ARGP_KEY_HELP_POST_DOC ? fault_kind_list() : (char *)text;
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &parallel_argp, 0, "How it is parallel, and what its steps are made of:", 3 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.children = children,
		.doc = "Trains nothing, the way PyTorch and TorchTitan do: FSDP2, HSDP, DDP, TP, CP, PP, EP and meshes "
		       "of them. "
		       "Starts its ranks itself, or is one of them where a launcher has set RANK.\v",
		.help_filter = fault_list,
	};

	*options = (struct options){
		.layers = 6, .elements = 16384, .gradients = VALUES_FLOAT, .step_ms = 700, .steps = 20, .host_ms = 3,
		.first_call = -1, .first_tag = -1, .step_rank = -1,
		.fault = fault_kind_find("none"), .fault_ranks = 1, .fault_step = 8, .fault_every = 1,
		.fault_index = 4321, .hogs = 24, .log_bytes = 2 << 20,
		.log_dir = getenv("WORKLOAD_LOG_DIR"), .events = getenv("WORKLOAD_EVENTS"),
	};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}

int options_host_of(const struct options *options, int rank)
{
	return options->hosts ? (int)((long)rank * options->hosts / options->ranks) : 0;
}

int options_environment_number(const char *name, int low, int high)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return -1;
	errno = 0;
	long value = strtol(text, &end, 10);
	return errno || *end || value < low || value > high ? -1 : (int)value;
}
