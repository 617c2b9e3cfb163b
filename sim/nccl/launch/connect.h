/* SPDX-License-Identifier: MIT */
/*
 * Connections at first use, as NCCL makes them: on the host, in the outermost group's end, before anything is launched,
 * and with the peers: whoever comes first waits. Each direction of a pair connects with its first Send and Recv (pairs
 * on two hosts are connected by init). The ranks of a communicator connect with its first collective, or by init where
 * NCCL does without cuMem (NCCL_CUMEM_ENABLE=0), or is asked to (NCCL_RUNTIME_CONNECT=0), or is older than 2.22. All
 * collectives run as rings: one algorithm, one connection.
 */
#ifndef SIM_NCCL_LAUNCH_CONNECT_H
#define SIM_NCCL_LAUNCH_CONNECT_H

#include "sim/nccl/launch/plan.h"

/* By init: whether the collectives' connections are there from the beginning. Behind the last meeting of all ranks. */
void connect_init(struct ncclComm *comm);
/*
 * Makes what the plans of a group need and do not have. A communicator alone connects on this thread, several side by
 * side on threads of their own; all pairs first, then the collectives. ncclInternalError: aborted meanwhile.
 */
ncclResult_t connect_plans(struct plan *plans);

#endif
