/* SPDX-License-Identifier: MIT */
/*
 * Jobs whose ranks' times vary as those of real machines do, with and without a slow rank, to measure how often a
 * healthy rank is named and how soon a slow one is. Made record by record from a model of its own; shares nothing with
 * analysis/.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_NOISY_H
#define TESTS_UNIT_ANALYSIS_JOBS_NOISY_H

#include <stdbool.h>

#include "analysis/analysis.h"

enum noisy_tail {
	NOISY_NORMAL,
	NOISY_HEAVY,	  /* x exp(0.1 x²): a power law with exponent 5 */
	NOISY_LOG_NORMAL, /* exp(x) - 1 */
};

enum noisy_pattern {
	NOISY_NOTHING,
	NOISY_EVERY_STEP,
	NOISY_ONE_IN_TEN,
	NOISY_CREEP,	  /* from 0 to all of it in 100 steps */
	NOISY_FROM_START, /* of the job */
	NOISY_TWO,	  /* at once, the same */
	NOISY_BY_TURNS,	  /* two ranks, each every other step */
	NOISY_BLOCKS,	  /* ten steps of fifty */
	NOISY_GROWS,	  /* by as much more in each step */
	NOISY_ALL,	  /* ranks in every step: nobody is at fault */
};

/* Shares are of step_ms. */
struct noisy_job {
	int ranks, steps, ranks_per_host;
	double step_ms;
	double jitter;		/* uniform, drawn anew in each step of each rank */
	double noise;		/* standard deviation, or scale, of the noise that … */
	double lasts;		/* … keeps this share of itself from one step to the next */
	enum noisy_tail tail;
	bool noise_of_hosts;	/* one for all ranks of a host */
	double walk;		/* a random walk that turns back between 0 and this */
	double differences;	/* ranks differ for good by up to this, either way */
	double phase;		/* each rank is slower by this for phase_steps of each 60 */
	int phase_steps;
	double uneven;		/* one rank drawn in each step takes longer (MoE) */
	double ramp;		/* steps have become longer by this at the end (sequence length) */
	bool evaluates;		/* every 50 steps, for ten steps' time, with operations of its own */
	unsigned seed;
	enum noisy_pattern pattern;
	double fault_ms;
	int fault_step;
};

struct noisy_result {
	int faulty[2];	/* ranks; -1 none */
	int found_step[2]; /* in which a finding named it, first; 0 never */
	int wrong;	/* findings (warning and above) of other ranks, not inconclusive */
	int wrong_rank, wrong_step; /* the first; -1, 0 none */
	char wrong_text[160];
	int steps;	/* that the analysis has recognised */
	int slower_step; /* of the job in which its steps were first said to take longer for good, looked at every 20; 0
			    never */
	struct analysis_pace pace; /* what was said then, or at the end */
};

void noisy_play(const struct noisy_job *job, struct noisy_result *result);

#endif
