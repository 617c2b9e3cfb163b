/* SPDX-License-Identifier: MIT */
/* The families of noisy jobs that accuracy is measured on. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_NOISY_JOBS_H
#define TESTS_UNIT_ANALYSIS_JOBS_NOISY_JOBS_H

#include "tests/unit/analysis/jobs/noisy.h"

struct noisy_family {
	const char *what;
	struct noisy_job job; /* without its size, pace and seed */
};

extern const struct noisy_family noisy_healthy[], noisy_faulty[];
extern const int noisy_healthy_count, noisy_faulty_count;
/* Of the least that counts: 20 ms or 3 % of the step, the larger. */
extern const double noisy_sizes[];
extern const int noisy_size_count;

/* The seed chooses the number of ranks and how long a step takes, too. */
struct noisy_job noisy_healthy_job(int family, unsigned seed);
struct noisy_job noisy_faulty_job(int family, int size, unsigned seed);

#endif
