/* SPDX-License-Identifier: MIT */
/* The ranks of one communicator that live in this process. Whoever ends the last of them frees all, as in NCCL. */
#ifndef SIM_NCCL_COMM_CLIQUE_H
#define SIM_NCCL_COMM_CLIQUE_H

#include <stdbool.h>

#include <nccl.h>

/* Enters the communicator among those made with the same id. Any thread. ncclSystemError: out of memory. */
ncclResult_t clique_join(struct ncclComm *comm, const ncclUniqueId *id);
/*
 * NCCL_LAUNCH_MODE=GROUP, as each communicator's init reads it: the members launch together. Each says where it is, and
 * goes on when all have said so, whichever threads they are on. Both do nothing in the other mode. False: aborted.
 * more: this one will come again; set when any of them will.
 */
void clique_read_mode(void);
void clique_arrive(struct ncclComm *comm, bool more);
bool clique_wait(const struct ncclComm *comm, bool *more);
/*
 * The communicator's end was asked for. Returns the members, linked by their sibling field, when this was the last of
 * them, for the caller to free; else NULL. One that never joined is its own clique.
 */
struct ncclComm *clique_leave(struct ncclComm *comm);

#endif
