/* SPDX-License-Identifier: MIT */
/*
 * A true spin takes a processor for each rank. Here a spinning thread computes for HOST_SHARE_BURST_NS and then sleeps,
 * so that all hosts of a machine whose every device is waited for take an eightieth of its processors at most: the
 * share is processors / (80 x devices), or what SIM_CUDA_SPIN says in percent. With enough processors it never sleeps.
 */
#ifndef SIM_CUDA_STREAMS_HOST_SHARE_H
#define SIM_CUDA_STREAMS_HOST_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_SHARE_BURST_NS 5000

/* False: SIM_CUDA_SPIN is wrong, which has been said on stderr. Reads it on first use. */
bool host_share_is_right(void);
/* How long it sleeps between two bursts. */
uint64_t host_share_rest_ns(void);
long host_share_processors(void);

#endif
