/* SPDX-License-Identifier: MIT */
/*
 * Which ranks' outboxes one rank exchanges with ranks of other hosts in collectives: it sends its own to one rank of
 * each other host, and copies those that come to it into the own host's segment, where all its ranks read them.
 */
#ifndef SIM_NCCL_NETWORK_ROUTE_H
#define SIM_NCCL_NETWORK_ROUTE_H

#include "sim/nccl/launch/plan.h"
#include "sim/nccl/network/wire.h"

struct route {
	int peer;
	bool sends;
	struct link *link;
	int rank, host;     /* whose outbox, and for which host */
	char *at;           /* of the exchange that is going on; the stream thread's */
	size_t left, steps; /* of it: bytes, and steps that take them evenly */
};

struct routes {
	struct route *list; /* receives first, as in NCCL */
	int count;
};

/* wires: one for each rank. */
ncclResult_t routes_find(struct routes *routes, const struct hosts *hosts, struct wire *wires);
void routes_drop(struct routes *routes);
/* What the other hosts need after this phase of a piece. On the stream's thread. False: aborted meanwhile. */
bool routes_exchange(const struct routes *routes, const struct task *task, int phase, size_t count);

#endif
