/* SPDX-License-Identifier: MIT */
/*
 * How a thread of the program waits for its GPU, as CUDA does: it spins, spins and yields, or blocks on a futex until
 * the driver's thread for events wakes it (callback.h). GPUs' own threads wait for each other by stream_point_wait()
 * instead.
 *
 * A true spin takes a processor for each rank. Here a spinning thread computes for HOST_WAIT_BURST_NS and then sleeps,
 * so that all hosts of a machine whose every device is waited for take an eightieth of its processors at most: the share
 * is processors / (80 x devices), or what SIM_CUDA_SPIN says in percent. With enough processors it never sleeps.
 */
#ifndef SIM_CUDA_STREAMS_HOST_WAIT_H
#define SIM_CUDA_STREAMS_HOST_WAIT_H

#include <stdbool.h>

#include "sim/cuda/streams/stream.h"

#define HOST_WAIT_BURST_NS 5000

enum host_wait { HOST_WAIT_SPIN, HOST_WAIT_YIELD, HOST_WAIT_BLOCK };

/* False: SIM_CUDA_SPIN is wrong, which has been said on stderr. Reads it on first use. */
bool host_wait_share_is_right(void);
/* What the CU_CTX_SCHED_… bits of a context mean while the process has so many contexts. */
enum host_wait host_wait_of_flags(unsigned int flags, unsigned int contexts);
/* Until the point is reached, in the way of its stream's context, or in this one. */
void host_wait(const struct stream_point *point);
void host_wait_by(const struct stream_point *point, enum host_wait how);

#endif
