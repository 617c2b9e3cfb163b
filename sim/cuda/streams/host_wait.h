/* SPDX-License-Identifier: MIT */
/*
 * How a thread of the program waits for its GPU, as CUDA does: it spins, spins and yields, or blocks on a futex until
 * the driver's thread for events wakes it (callback.h). GPUs' own threads wait for each other by stream_point_wait()
 * instead.
 */
#ifndef SIM_CUDA_STREAMS_HOST_WAIT_H
#define SIM_CUDA_STREAMS_HOST_WAIT_H

#include <stdatomic.h>

#include "sim/cuda/streams/stream_point.h"

enum host_wait { HOST_WAIT_SPIN, HOST_WAIT_YIELD, HOST_WAIT_BLOCK };

/* How many contexts the process has: of more than processors their threads yield by default. */
extern atomic_uint host_wait_contexts;
/* Until the point is reached, in the way of its stream's context, or in this one. */
void host_wait(const struct stream_point *point);
void host_wait_by(const struct stream_point *point, enum host_wait how);

#endif
