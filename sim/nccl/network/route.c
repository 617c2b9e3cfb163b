/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/route.h"

#include <stdlib.h>

#include "sim/nccl/network/exchange.h"

static void add(struct routes *routes, const struct hosts *hosts, struct wire *wires, int peer, bool sends)
{
	struct wire *wire = &wires[peer];

	routes->list[routes->count++] = (struct route){
		.peer = peer,
		.sends = sends,
		.link = sends ? &wire->send[LINK_COLLECTIVE] : &wire->receive[LINK_COLLECTIVE],
		.rank = sends ? hosts->rank : peer,
		.host = sends ? hosts->places[peer].host : hosts->own,
	};
}

ncclResult_t routes_find(struct routes *routes, const struct hosts *hosts, struct wire *wires)
{
	routes->list = calloc((size_t)hosts->nranks + (size_t)hosts->count, sizeof(*routes->list));
	if (!routes->list)
		return ncclSystemError;
	for (int rank = 0; rank < hosts->nranks; rank++) {
		if (hosts->places[rank].host != hosts->own && hosts_receiver(hosts, rank, hosts->own) == hosts->rank)
			add(routes, hosts, wires, rank, false);
	}
	for (int host = 0; host < hosts->count; host++) {
		if (host != hosts->own)
			add(routes, hosts, wires, hosts_receiver(hosts, hosts->rank, host), true);
	}
	return ncclSuccess;
}

void routes_drop(struct routes *routes)
{
	free(routes->list);
}

static bool advance(struct route *route)
{
	bool moved = false;

	while (route->left) {
		size_t bytes = route->sends ? link_fill(route->link, route->at, route->left / route->steps)
					    : link_empty(route->link, route->at, route->left);
		if (!bytes)
			break;
		route->at += bytes;
		route->left -= bytes;
		route->steps--;
		moved = true;
	}
	return moved;
}

/* All together, so that two ranks may send to each other. */
static bool advance_all(const struct routes *routes, bool *done)
{
	bool moved = false;

	*done = true;
	for (int i = 0; i < routes->count; i++) {
		moved |= advance(&routes->list[i]);
		*done &= !routes->list[i].left;
	}
	return moved;
}

static void begin(const struct routes *routes, const struct task *task, int phase, size_t count)
{
	const struct ncclComm *comm = task->comm;

	for (int i = 0; i < routes->count; i++) {
		struct route *route = &routes->list[i];
		route->at = segment_mailbox(&comm->segment, route->rank, comm->turn);
		route->left = exchange_bytes(task, phase, count, route->rank, route->host);
		route->steps = exchange_phase_steps(task, route->left);
	}
}

bool routes_exchange(const struct routes *routes, const struct task *task, int phase, size_t count)
{
	struct ncclComm *comm = task->comm;
	_Atomic uint32_t *bell = &comm->segment.shared->ranks[comm->rank].bell;
	bool done = false;

	begin(routes, task, phase, count);
	while (!done) {
		/* Before looking: what moves after this makes the wait return at once. */
		uint32_t seen = atomic_load(bell);
		if (atomic_load(&comm->stop))
			return false;
		if (advance_all(routes, &done))
			comm_wake_proxy(comm);
		else if (!done)
			bell_wait(bell, seen);
	}
	return true;
}
