/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/noisy_jobs.h"

#include <math.h>

/* Jobs of 8, 16, 32 and 64 ranks with steps of 160 ms to 2 s; 8 per host. */
const struct noisy_family noisy_healthy[] = {
	{ "alone, normal, 5 % of the step", { .noise = 0.05 } },
	{ "alone, heavy tails, 5 %", { .noise = 0.05, .tail = NOISY_HEAVY } },
	{ "alone, log-normal, 5 %", { .noise = 0.05, .tail = NOISY_LOG_NORMAL } },
	{ "lasts by 0.5, normal, 10 %", { .noise = 0.1, .lasts = 0.5 } },
	{ "lasts by 0.8, normal, 10 %", { .noise = 0.1, .lasts = 0.8 } },
	{ "lasts by 0.9, normal, 10 %", { .noise = 0.1, .lasts = 0.9 } },
	{ "lasts by 0.95, normal, 10 %", { .noise = 0.1, .lasts = 0.95 } },
	{ "lasts by 0.95, normal, 3 %", { .noise = 0.03, .lasts = 0.95 } },
	{ "lasts by 0.97, normal, 10 %", { .noise = 0.1, .lasts = 0.97 } },
	{ "lasts by 0.8, heavy tails, 10 %", { .noise = 0.1, .lasts = 0.8, .tail = NOISY_HEAVY } },
	{ "lasts by 0.95, heavy tails, 10 %", { .noise = 0.1, .lasts = 0.95, .tail = NOISY_HEAVY } },
	{ "lasts by 0.8, log-normal, 6 %", { .noise = 0.06, .lasts = 0.8, .tail = NOISY_LOG_NORMAL } },
	{ "lasts by 0.95, log-normal, 6 %", { .noise = 0.06, .lasts = 0.95, .tail = NOISY_LOG_NORMAL } },
	{ "lasts by 0.9, log-normal, 6 %, ranks differ by 2 %",
	  { .noise = 0.06, .lasts = 0.9, .tail = NOISY_LOG_NORMAL, .differences = 0.02 } },
	{ "lasts by 0.95, normal, 3 %, ranks differ by 2 %", { .noise = 0.03, .lasts = 0.95, .differences = 0.02 } },
	{ "alone, normal, 3 %, ranks differ by 2 %", { .noise = 0.03, .differences = 0.02 } },
	{ "ranks differ by 2 %", { .jitter = 0.01, .differences = 0.02 } },
	{ "walks up to 10 % and back", { .walk = 0.1 } },
	{ "walks up to 30 % and back", { .walk = 0.3 } },
	{ "slow phases of 2 steps in 60, 15 %", { .jitter = 0.02, .phase = 0.15, .phase_steps = 2 } },
	{ "of hosts, lasts by 0.9, normal, 10 %", { .noise = 0.1, .lasts = 0.9, .noise_of_hosts = true } },
	{ "of hosts, lasts by 0.95, log-normal, 6 %",
	  { .noise = 0.06, .lasts = 0.95, .tail = NOISY_LOG_NORMAL, .noise_of_hosts = true } },
	{ "uneven experts, 40 %", { .jitter = 0.02, .uneven = 0.4 } },
	{ "jitter of 30 %", { .jitter = 0.3 } },
	{ "sequence ramp, jitter of 10 %", { .jitter = 0.1, .ramp = 1 } },
	{ "evaluates, lasts by 0.8, normal, 5 %", { .noise = 0.05, .lasts = 0.8, .evaluates = true } },
};
const int noisy_healthy_count = sizeof(noisy_healthy) / sizeof(*noisy_healthy);

const struct noisy_family noisy_faulty[] = {
	{ "every step, quiet", { .pattern = NOISY_EVERY_STEP, .jitter = 0.01 } },
	{ "every step, 2 % noise", { .pattern = NOISY_EVERY_STEP, .noise = 0.02 } },
	{ "every step, heavy tails of 2 %", { .pattern = NOISY_EVERY_STEP, .noise = 0.02, .tail = NOISY_HEAVY } },
	{ "every step, jitter of 10 %", { .pattern = NOISY_EVERY_STEP, .jitter = 0.1 } },
	{ "every step, 2 % noise that lasts by 0.9", { .pattern = NOISY_EVERY_STEP, .noise = 0.02, .lasts = 0.9 } },
	{ "one step in ten, 1 % noise", { .pattern = NOISY_ONE_IN_TEN, .noise = 0.01 } },
	{ "creep, 1 % noise", { .pattern = NOISY_CREEP, .noise = 0.01 } },
	{ "from the first step, 1 % noise", { .pattern = NOISY_FROM_START, .noise = 0.01 } },
	{ "two at once, 1 % noise", { .pattern = NOISY_TWO, .noise = 0.01 } },
	{ "two by turns, 1 % noise", { .pattern = NOISY_BY_TURNS, .noise = 0.01 } },
	{ "ten steps of fifty, 1 % noise", { .pattern = NOISY_BLOCKS, .noise = 0.01 } },
};
const int noisy_faulty_count = sizeof(noisy_faulty) / sizeof(*noisy_faulty);

const double noisy_sizes[] = { 1.2, 1.5, 2, 3, 10 };
const int noisy_size_count = sizeof(noisy_sizes) / sizeof(*noisy_sizes);

static const int rank_counts[] = { 8, 8, 16, 8, 32, 16, 8, 64 };
static const double paces_ms[] = { 160, 500, 2000 };

static void scale(struct noisy_job *job, unsigned seed)
{
	job->ranks = rank_counts[seed % 8];
	job->step_ms = paces_ms[seed / 8 % 3];
	job->ranks_per_host = job->ranks > 8 ? 8 : 4;
	job->seed = seed;
}

struct noisy_job noisy_healthy_job(int family, unsigned seed)
{
	struct noisy_job job = noisy_healthy[family].job;

	scale(&job, seed);
	job.steps = 400;
	return job;
}

struct noisy_job noisy_faulty_job(int family, int size, unsigned seed)
{
	struct noisy_job job = noisy_faulty[family].job;

	scale(&job, seed);
	job.steps = 300;
	job.fault_step = job.pattern == NOISY_FROM_START ? 1 : 40 + (int)(seed % 7) * 10;
	job.fault_ms = noisy_sizes[size] * fmax(20, 0.03 * job.step_ms);
	return job;
}
