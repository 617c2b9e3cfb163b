/* SPDX-License-Identifier: MIT */
/*
 * The progress thread of a communicator: sleeps, moves data between hosts, and delivers KernelCh
 * events where the profiler asked for them. It reports on itself in ProxyCtrl events.
 */
#ifndef SIM_NCCL_NETWORK_PROXY_H
#define SIM_NCCL_NETWORK_PROXY_H

#include <nccl.h>

struct channel_op;
struct ncclComm;
struct proxy;
struct transfer;

/* What one plan gives the thread to do; in order, and owned. */
struct posting {
	struct channel_op *ops;
	struct transfer *transfers;
};

/* Starts the thread if the communicator needs it from its init on. */
ncclResult_t proxy_start(struct ncclComm *comm);
/* Starts it, unless it runs or has been stopped. Before a plan that will post something is launched. */
ncclResult_t proxy_need_thread(struct proxy *proxy);
/*
 * Ends and joins the thread once the network has nothing left to do, after an abort at once; events of unfinished plans
 * are not delivered then, as in NCCL.
 */
void proxy_stop(struct proxy *proxy);
/* Stops it, and gives its memory back. Both accept NULL. */
void proxy_close(struct proxy *proxy);
/* Before a plan with KernelCh events is handed over: up to 2.30.7 NCCL makes a queue in /dev/shm for the first one,
 * ignores when there is no room for it, and is then ended by SIGSEGV (NVIDIA/nccl#2326). The room is looked for and not
 * taken. */
void proxy_need_queue(struct proxy *proxy);
/* Hands over what follows from a launched plan whose Coll and P2p events have been started. */
void proxy_post(struct proxy *proxy, struct posting posting);

#endif
