/* SPDX-License-Identifier: MIT */
/* What NCCL would run a collective with, as far as profilers hear of it; the stand-in moves the data in its one way. */
#ifndef SIM_NCCL_LAUNCH_PROTOCOL_H
#define SIM_NCCL_LAUNCH_PROTOCOL_H

#include "sim/nccl/launch/plan.h"

/* Else LL. By size, unless NCCL_PROTO names one of the two. */
bool protocol_is_simple(const struct task *task);
/* Over a ring between hosts: steps of a proxy's operation for each of the two ways round that an AllReduce takes. */
int protocol_ring_steps(const struct task *task);
/* What such an operation announces as its chunk. */
int protocol_chunk_bytes(const struct task *task);

#endif
