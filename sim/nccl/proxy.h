/* SPDX-License-Identifier: MIT */
/* The progress thread of a communicator: sleeps, and delivers KernelCh events where the profiler asked for them. */
#ifndef SIM_NCCL_PROXY_H
#define SIM_NCCL_PROXY_H

#include <pthread.h>
#include <stdbool.h>

#include <nccl.h>

struct plan;
struct proxy_entry;

struct proxy {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct proxy_entry *entries; /* plans whose events are not all delivered, oldest first */
	bool running, stop, woken;
};

ncclResult_t proxy_start(struct proxy *proxy, int device);
/* Ends and joins the thread; events of unfinished plans are not delivered, as in NCCL after an abort. */
void proxy_stop(struct proxy *proxy);
/* Hands over a launched plan whose Coll and P2p events have been started. Takes a reference. */
void proxy_add(struct proxy *proxy, struct plan *plan);
/* A plan of this proxy has started or stopped. */
void proxy_wake(struct proxy *proxy);

#endif
