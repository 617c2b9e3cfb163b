/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/even_jobs.h"

#define TENSOR_PARALLEL .operations = 160, .compute_ms = 1, .jitter = 0.02, .seconds = 130
#define PIPELINE .stages = 4, .operations = 8, .compute_ms = 40, .jitter = 0.02, .seconds = 200

const struct even_family even_healthy[] = {
	{ "160 operations of 1 ms", { TENSOR_PARALLEL } },
	{ "ranks differ by 2 %", { TENSOR_PARALLEL, .differences = 0.02 } },
	{ "noise of a step, 10 %", { TENSOR_PARALLEL, .noise = 0.1 } },
	{ "noise lasts by 0.95, 10 %", { TENSOR_PARALLEL, .noise = 0.1, .lasts = 0.95 } },
	{ "noise lasts by 0.98, 5 %", { TENSOR_PARALLEL, .noise = 0.05, .lasts = 0.98 } },
	{ "noise lasts by 0.995, 5 %", { TENSOR_PARALLEL, .noise = 0.05, .lasts = 0.995 } },
	{ "groups of 4, ranks differ by 2 %", { TENSOR_PARALLEL, .tensor_parallel = 4, .differences = 0.02 } },
	{ "groups of 2, noise lasts by 0.95, 10 %",
	  { TENSOR_PARALLEL, .tensor_parallel = 2, .noise = 0.1, .lasts = 0.95 } },
	{ "one operation in 16 followed", { TENSOR_PARALLEL, .sampled = 16, .differences = 0.02 } },
	{ "sizes never repeat, ranks differ by 2 %",
	  { TENSOR_PARALLEL, .no_steps = true, .host = true, .differences = 0.02 } },
	{ "operations of 4 ms, ranks differ by 2 %",
	  { .operations = 40, .compute_ms = 4, .jitter = 0.001, .seconds = 130, .differences = 0.02 } },
	{ "pipeline", { PIPELINE } },
	{ "pipeline, stages up to 60 % apart, ranks differ by 2 %", { PIPELINE, .uneven = 0.6, .differences = 0.02 } },
	{ "pipeline, noise lasts by 0.95, 10 %", { PIPELINE, .noise = 0.1, .lasts = 0.95 } },
};
const int even_healthy_count = sizeof(even_healthy) / sizeof(*even_healthy);

const struct even_family even_faulty[] = {
	{ "GPU slower by 5 %", { TENSOR_PARALLEL, .slow = 0.05 } },
	{ "GPU slower by 7 %", { TENSOR_PARALLEL, .slow = 0.07 } },
	{ "GPU slower by 10 %", { TENSOR_PARALLEL, .slow = 0.1 } },
	{ "GPU slower by 20 %", { TENSOR_PARALLEL, .slow = 0.2 } },
	{ "GPU slower by 10 %, ranks differ by 1 %", { TENSOR_PARALLEL, .slow = 0.1, .differences = 0.01 } },
	{ "GPU slower by 10 %, groups of 4", { TENSOR_PARALLEL, .slow = 0.1, .tensor_parallel = 4 } },
	{ "GPU slower by 20 %, groups of 2, noise of 5 %",
	  { TENSOR_PARALLEL, .slow = 0.2, .tensor_parallel = 2, .noise = 0.05 } },
	{ "GPU slower by 60 %, one operation in 16 followed", { TENSOR_PARALLEL, .slow = 0.6, .sampled = 16 } },
	{ "40 ms before one operation in 24, sizes never repeat",
	  { .operations = 160,
	    .compute_ms = 5,
	    .jitter = 0.02,
	    .seconds = 130,
	    .no_steps = true,
	    .host = true,
	    .stall_every = 24,
	    .stall_ms = 40 } },
	{ "pipeline, one rank slower by 20 %", { PIPELINE, .slow = 0.2 } },
	{ "pipeline, one rank slower by 50 %", { PIPELINE, .slow = 0.5 } },
	{ "pipeline, stages up to 60 % apart, one rank slower by 50 %", { PIPELINE, .slow = 0.5, .uneven = 0.6 } },
};
const int even_faulty_count = sizeof(even_faulty) / sizeof(*even_faulty);

static void scale(struct even_job *job, unsigned seed)
{
	static const int ranks[] = { 8, 16, 8, 32 };

	job->ranks = ranks[seed % 4];
	job->seed = seed;
	job->slow_rank = -1;
}

struct even_job even_healthy_job(int family, unsigned seed)
{
	struct even_job job = even_healthy[family].job;

	scale(&job, seed);
	return job;
}

struct even_job even_faulty_job(int family, unsigned seed)
{
	struct even_job job = even_faulty[family].job;

	scale(&job, seed);
	job.slow_rank = (int)(seed * 7 % (unsigned)job.ranks);
	return job;
}
