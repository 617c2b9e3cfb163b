/* SPDX-License-Identifier: MIT */
/*
 * How small a lateness is still found? For each pattern of lateness and each parallelism, and each spread of the peers:
 * the smallest share of the step that is named in 9 of 10 jobs within 60 steps or 120 s, the longer. usage: limits
 * [FIRST-SEED]. Exit status: 1 if a healthy rank was named in any of the jobs.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "suite/judge.h"

enum { DRAWS = 10, NAMED = 9, RANKS = 16, EVERY = 10, FAULT_STEP = 40, STEPS_LEAST = 60 };

/* A normal distribution's median absolute deviation, of its standard deviation. */
static const double mad_of_normal = 0.6745;
static const double seconds_least = 120, noise_lasts = 0.5;

static const double spreads[] = { 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04 };
static const double shares[] = { 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5 };

enum { SPREADS = sizeof(spreads) / sizeof(*spreads), SHARES = sizeof(shares) / sizeof(*shares) };

static const struct pattern {
	const char *name;
	enum suite_fault fault;
} patterns[] = {
	{ "each step, before one operation", FAULT_EVERY_STEP },
	{ "each step, spread evenly", FAULT_SPREAD },
	{ "one step in 10", FAULT_ONE_IN },
	{ "creep, grows for 100 steps", FAULT_CREEP },
	{ "from the first step", FAULT_FROM_START },
};

static const struct parallelism {
	const char *name;
	enum suite_shape shape;
	int width;
} parallelisms[] = {
	{ "FSDP", SHAPE_SHARDED, 8 },
	{ "TP 8, DP 2", SHAPE_TENSOR, 8 },
	{ "TP 4, DP 4", SHAPE_TENSOR, 4 },
	{ "4 stages, 4 replicas", SHAPE_STAGES, 4 },
};

static struct suite_draw job(const struct pattern *pattern, const struct parallelism *parallelism, double spread,
			     double share, unsigned seed)
{
	struct suite_draw draw = {
		.seed = seed, .shape = parallelism->shape, .ranks = RANKS, .width = parallelism->width, .layers = 2, .per_host = 8,
		.step_ms = 1000, .lasts = noise_lasts, .fault = pattern->fault, .rank = (int)(seed % RANKS), .other = -1,
		.cause = pattern->fault == FAULT_SPREAD ? CAUSE_UNSEEN_GPU : CAUSE_UNSEEN_HOST,
		.every = pattern->fault == FAULT_ONE_IN ? EVERY : 1,
		.fault_step = pattern->fault == FAULT_FROM_START ? 1 : FAULT_STEP,
	};
	double step_ms = suite_step_ms(&draw);

	draw.noise = spread / mad_of_normal * step_ms / draw.step_ms;
	draw.ms = share * step_ms * draw.every;
	draw.steps = draw.fault_step + (int)fmax(STEPS_LEAST, 1000 * seconds_least / step_ms);
	return draw;
}

/* In how many jobs the rank was named; *wrong: in how many another one was. */
static int count_named(const struct pattern *pattern, const struct parallelism *parallelism, double spread,
		       double share, unsigned first, unsigned *wrong)
{
	int named = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		struct suite_draw draw = job(pattern, parallelism, spread, share, first + i);
		struct suite_result result;
		suite_judge(&draw, &result, NULL);
		named += result.verdict == VERDICT_RIGHT || result.verdict == VERDICT_CAUSE;
		*wrong += result.verdict == VERDICT_WRONG;
	}
	return named;
}

/* SHARES: none of them suffices. Who is named at some share is named at each larger one. */
static size_t smallest(const struct pattern *pattern, const struct parallelism *parallelism, double spread,
		       unsigned first, unsigned *wrong)
{
	size_t low = 0, high = SHARES;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (count_named(pattern, parallelism, spread, shares[middle], first, wrong) >= NAMED)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static unsigned print_limits(unsigned first)
{
	unsigned wrong = 0;

	printf("| late | parallelism |");
	for (size_t i = 0; i < SPREADS; i++)
		printf(" MAD %g %% |", 100 * spreads[i]);
	printf("\n|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		for (size_t k = 0; k < sizeof(parallelisms) / sizeof(*parallelisms); k++) {
			printf("| %s | %s |", patterns[i].name, parallelisms[k].name);
			for (size_t spread = 0; spread < SPREADS; spread++) {
				size_t share = smallest(&patterns[i], &parallelisms[k], spreads[spread], first, &wrong);
				if (share == SHARES)
					printf(" – |");
				else
					printf(" %g %% |", 100 * shares[share]);
			}
			printf("\n");
			fflush(stdout);
		}
	return wrong;
}

int main(int count, char **arguments)
{
	char *end = NULL;
	unsigned long first = 0;

	errno = 0;
	if (count == 2)
		first = strtoul(arguments[1], &end, 10);
	if (count > 2 || errno || (end && (*end || end == arguments[1])) || first > 1000000000) {
		fprintf(stderr, "usage: limits [FIRST-SEED]\n");
		return 2;
	}
	unsigned wrong = print_limits((unsigned)first);
	printf("\nA healthy rank was named in %u of these jobs.\n", wrong);
	return wrong > 0;
}
