/* SPDX-License-Identifier: MIT */
/*
 * The progress thread of a communicator: sleeps, moves data between hosts, and delivers KernelCh events where the
 * profiler asked for them.
 */
#ifndef SIM_NCCL_PROXY_H
#define SIM_NCCL_PROXY_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include <nccl.h>

struct ncclComm;
struct plan;
struct proxy_entry;
struct transfer;

struct proxy {
	struct ncclComm *comm;
	pthread_t thread;
	pthread_mutex_t lock;
	int wake_fd; /* eventfd: there is something to look at */
	struct pollfd *fds;
	struct proxy_entry *entries; /* plans whose events are not all delivered, oldest first */
	struct transfer *incoming;   /* not yet taken by the thread, oldest first */
	bool running, stop;
	bool idle; /* nothing moved when the thread looked last */
};

ncclResult_t proxy_start(struct proxy *proxy, struct ncclComm *comm);
/*
 * Ends and joins the thread once the network has nothing left to do, after an abort at once; events of unfinished plans
 * are not delivered then, as in NCCL.
 */
void proxy_stop(struct proxy *proxy);
/* Hands over a launched plan whose Coll and P2p events have been started. Takes a reference. */
void proxy_add(struct proxy *proxy, struct plan *plan);
/* Hands over what such a plan sends and receives. */
void proxy_add_transfers(struct proxy *proxy, struct transfer *transfers);
/* A plan of this proxy has started or stopped, or a link has moved. */
void proxy_wake(struct proxy *proxy);

#endif
