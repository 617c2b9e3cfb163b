/* SPDX-License-Identifier: MIT */
/*
 * How computation varies on healthy GPUs, by sizes that are known. Two parts, both relative to the time asked for:
 * spread: rank r of n is slower by spread x r / (n - 1), always;
 * noise: each step is longer by noise on average, log-normal with sigma 1 (one step in a hundred by six times that),
 * and a rank's steps go on as they were: their logarithms have an autocorrelation of NOISE_CORRELATION from step to
 * step.
 */
#ifndef SIM_WORKLOAD_TRAINING_NOISE_H
#define SIM_WORKLOAD_TRAINING_NOISE_H

#define NOISE_CORRELATION 0.8

struct noise {
	double spread, noise; /* shares: 0.03 is 3 % */
	int rank, ranks;
	int step; /* that `normal` is of; 0 none yet */
	double normal;
};

/* By what the computation of this step is multiplied, at least 1; steps are asked for in their order. The same for
 * equal rank and step in each run. */
double noise_factor(struct noise *noise, int step);

#endif
