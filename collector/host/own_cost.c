/* SPDX-License-Identifier: MIT */
#include "collector/host/own_cost.h"

#include "base/clock.h"

uint64_t own_cpu_ns(void)
{
	return clock_thread_cpu_ns();
}
