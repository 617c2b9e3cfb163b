/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / 1000000;
}

uint64_t clock_realtime_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

double clock_unix_ms(void)
{
	return (double)clock_realtime_ns() / 1e6;
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_realtime_offset_ns(void)
{
	uint64_t monotonic_ns = clock_monotonic_ns();

	return (int64_t)(clock_realtime_ns() - monotonic_ns);
}
