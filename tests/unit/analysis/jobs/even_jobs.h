/* SPDX-License-Identifier: MIT */
/* The families of jobs of many operations: for even_test.c, which judges a few, and accuracy.c, which counts many. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_EVEN_JOBS_H
#define TESTS_UNIT_ANALYSIS_JOBS_EVEN_JOBS_H

#include "tests/unit/analysis/jobs/even.h"

struct even_family {
	const char *what;
	struct even_job job;
};

extern const struct even_family even_healthy[], even_faulty[];
extern const int even_healthy_count, even_faulty_count;

/* Of 8 to 32 ranks; the faulty one is drawn. */
struct even_job even_healthy_job(int family, unsigned seed);
struct even_job even_faulty_job(int family, unsigned seed);

#endif
