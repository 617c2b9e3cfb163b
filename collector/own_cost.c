/* SPDX-License-Identifier: MIT */
#include "collector/own_cost.h"

#include <time.h>

uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
