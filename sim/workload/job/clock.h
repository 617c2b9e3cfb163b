/* SPDX-License-Identifier: MIT */
/* CLOCK_MONOTONIC in the units the workload counts in. */
#ifndef SIM_WORKLOAD_JOB_CLOCK_H
#define SIM_WORKLOAD_JOB_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void clock_sleep_until_ns(uint64_t deadline_ns)
{
	struct timespec deadline = { .tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL))
		;
}

static inline void clock_sleep_ms(unsigned int ms)
{
	clock_sleep_until_ns(clock_now_ns(CLOCK_MONOTONIC) + ms * 1000000ULL);
}

#endif
