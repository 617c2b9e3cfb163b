/* SPDX-License-Identifier: MIT */
/*
 * What joins the hosts of one communicator, as one rank has it: a connection to every rank of the other hosts. The
 * stream's thread fills and empties links, the progress thread moves their steps over the wires.
 */
#ifndef SIM_NCCL_NETWORK_NETWORK_H
#define SIM_NCCL_NETWORK_NETWORK_H

#include <poll.h>

#include "sim/nccl/network/transfer.h"

struct network;

/* Connects to all ranks of other hosts; NULL when there is one host only. Logs why it failed. */
ncclResult_t network_open(struct network **network, struct ncclComm *comm);
/* After the progress thread has ended. */
void network_close(struct network *network);

/* On the launching thread: what the plan's tasks receive and send, in order; the proxy's. */
ncclResult_t network_plan(struct plan *plan, struct transfer **transfers);

/* On the stream's thread. False: the communicator was aborted meanwhile. */
bool network_exchange(const struct task *task, int phase, size_t count);
/* NULL: the peer is on the own host. */
struct link *network_link(const struct ncclComm *comm, int peer, bool sends);

/* On the progress thread. */
void network_append(struct network *network, struct transfer *transfers);
/* Moves what can be moved; true: call again before waiting. */
bool network_advance(struct network *network);
bool network_has_transfers(const struct network *network);
bool network_is_busy(const struct network *network);
/* What to wait for, one entry for each rank at most. */
nfds_t network_poll(const struct network *network, struct pollfd *fds);

#endif
