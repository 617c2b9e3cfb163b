/* SPDX-License-Identifier: MIT */
/* What else is seen of the machines of a history's job: GPUs, ports, limits, losses, looks at Python, waits. Drawn from
 * the job's number, and the same whenever it is shown. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_SURROUNDINGS_H
#define TESTS_UNIT_ANALYSIS_JOBS_SURROUNDINGS_H

#include "analysis/analysis.h"

struct surroundings {
	unsigned int number; /* of the job */
	int ranks;
	int sick;	       /* its GPU, port and threads are those that something is wrong with … */
	double from_ms, to_ms; /* … in this time */
	int first_pid, first_bus; /* of rank 0's process, and of its GPU on the PCI bus; 0: those of a history's job */
};

/* As of the collector's look at this time. */
void surroundings_show(const struct surroundings *around, struct analysis *analysis, uint64_t now_ns);

#endif
