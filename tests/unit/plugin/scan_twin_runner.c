/* SPDX-License-Identifier: MIT */
#include "scan_runner.h"

#include "sim/cuda/kernels/scan_twin.h"

const int scan_runner_rounds = 4000;

void scan_run(const struct scan_launch *launch, uint32_t blocks)
{
	void *params[] = { (void *)launch };

	rankwatch_scan__cpu(params, &(struct cpu_launch){ .grid = { blocks, 1, 1 }, .block = { SCAN_THREADS, 1, 1 } });
}

struct scan_runner_fences scan_runner_fences(void)
{
	return (struct scan_runner_fences){ -1, -1, -1 };
}
