/* SPDX-License-Identifier: MIT */
/* How one rank of a communicator is made, waits for the others, and ends. */
#ifndef SIM_NCCL_COMM_COMM_LIFE_H
#define SIM_NCCL_COMM_COMM_LIFE_H

#include "sim/nccl/comm/comm.h"

/*
 * A communicator that is nobody's rank yet, on a copy of the config; NULL = defaults. ncclInvalidArgument: the config
 * is bad; ncclSystemError: out of memory.
 */
ncclResult_t comm_new(struct ncclComm **comm, const ncclConfig_t *config, CUdevice device);
/* Makes it rank of nranks under the id; waits for the other ranks. hash: the communicator's number. */
ncclResult_t comm_init(struct ncclComm *comm, const ncclUniqueId *id, uint64_t hash, int rank, int nranks);
/* All ranks of all hosts meet: see hosts_meet(). On API threads. */
ncclResult_t comm_meet(struct ncclComm *comm);
/* Wakes what waits for other ranks, to look at the stop flag. Not while another thread makes the communicator. */
void comm_wake(struct ncclComm *comm);
/* Waits for every plan of the communicator; with stop set, wakes them until they have ended. */
void comm_drain(struct ncclComm *comm);
/* Waits for the plans and ends the progress thread. */
void comm_quiesce(struct ncclComm *comm);
/*
 * Ends a communicator, however far its init came. The last of its clique waits for the plans of all members and frees
 * them; their profiler contexts are finalized on this thread, whatever device is current.
 */
void comm_reclaim(struct ncclComm *comm);

#endif
