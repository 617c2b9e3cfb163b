/* SPDX-License-Identifier: MIT */
/*
 * PXN, as far as profilers notice it: the transfers of one rank are driven by the progress thread of another rank of
 * the host, and so their events come in that rank's process, with the first one's context, parent and pid. Here the
 * data stay where they were, and only the events go there, through a pipe. Off but for SIM_NCCL_QUIRKS=pxn.
 */
#ifndef SIM_NCCL_NETWORK_PXN_H
#define SIM_NCCL_NETWORK_PXN_H

#include "sim/nccl/profiler/profiler_network.h"

struct pxn;

/* NULL when it is off, on one host, or for the only rank of its host. Before hosts_meet(). */
ncclResult_t pxn_open(struct pxn **pxn, struct ncclComm *comm);
void pxn_close(struct pxn *pxn);

/* Where events of other ranks come in, for poll(). */
int pxn_fd(const struct pxn *pxn);
/* On the progress thread. */
void pxn_receive(struct pxn *pxn);
void pxn_send(struct pxn *pxn, struct transfer_events *events, enum transfer_event event, int step,
	      enum profiler_state state, size_t bytes);

#endif
