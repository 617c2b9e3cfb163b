/* SPDX-License-Identifier: MIT */
/* In place of collector/host/own_cost.c: rounds cost nothing in virtual time, so none is left out. */
#include "collector/host/own_cost.h"

uint64_t own_cpu_ns(void)
{
	return 0;
}
