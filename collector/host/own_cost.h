/* SPDX-License-Identifier: MIT */
/* What the collector itself takes of the machine. */
#ifndef COLLECTOR_HOST_OWN_COST_H
#define COLLECTOR_HOST_OWN_COST_H

#include <stdint.h>

/* CPU time of this thread: on a crowded machine a round is long because others run meanwhile, and costs nobody
 * anything. */
uint64_t own_cpu_ns(void);

#endif
