/* SPDX-License-Identifier: MIT */
/* Where the threads of a bench run. */
#ifndef BENCH_PROCESSORS_H
#define BENCH_PROCESSORS_H

#include <sched.h>

/* Binds the calling thread to the processor that is `number` in turn among those it may use. Each thread gets one of
 * its own, as far as there are enough: else a busy machine runs several on one of them, and what they cost each other
 * is not seen. */
static inline void processors_settle(unsigned int number)
{
	cpu_set_t allowed, own;
	unsigned int left;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	left = number % (unsigned int)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || left--)
			continue;
		CPU_ZERO(&own);
		CPU_SET(cpu, &own);
		sched_setaffinity(0, sizeof(own), &own);
		return;
	}
}

#endif
