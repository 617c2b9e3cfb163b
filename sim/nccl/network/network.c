/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/nccl/data/number.h"
#include "sim/nccl/launch/schedule.h"
#include "sim/nccl/log.h"
#include "sim/nccl/network/exchange.h"
#include "sim/nccl/network/route.h"
#include "sim/nccl/quirk.h"

struct network {
	struct ncclComm *comm;
	struct wire *wires;         /* by rank */
	struct routes routes;       /* of collectives */
	struct transfer *transfers; /* oldest first */
	bool failed;
};

static bool is_remote(const struct ncclComm *comm, int rank)
{
	return comm->hosts.places[rank].host != comm->hosts.own;
}

/* Of two ranks the lower one calls. */
static ncclResult_t call_higher(struct network *network)
{
	struct ncclComm *comm = network->comm;
	ncclResult_t result = ncclSuccess;

	for (int peer = comm->rank + 1; peer < comm->nranks && result == ncclSuccess; peer++) {
		if (is_remote(comm, peer))
			result = meeting_call(&network->wires[peer].fd, &comm->hosts.id, &comm->hosts.ranks[peer],
					      comm->rank, &comm->stop);
	}
	return result;
}

static ncclResult_t answer_lower(struct network *network)
{
	struct ncclComm *comm = network->comm;
	ncclResult_t result = ncclSuccess;
	int missing = 0;

	for (int peer = 0; peer < comm->rank; peer++)
		missing += is_remote(comm, peer);
	while (missing-- && result == ncclSuccess) {
		int fd, caller;
		result = meeting_answer(&fd, &comm->hosts.id, comm->hosts.listener, &caller, &comm->stop);
		if (result != ncclSuccess)
			break;
		if (caller < 0 || caller >= comm->rank || network->wires[caller].fd >= 0) {
			close(fd);
			return ncclInternalError;
		}
		network->wires[caller].fd = fd;
	}
	return result;
}

static struct network *network_new(struct ncclComm *comm)
{
	struct network *network = calloc(1, sizeof(*network));

	if (!network)
		return NULL;
	network->comm = comm;
	network->wires = calloc((size_t)comm->nranks, sizeof(*network->wires));
	for (int rank = 0; network->wires && rank < comm->nranks; rank++)
		network->wires[rank].fd = -1;
	if (network->wires && routes_find(&network->routes, &comm->hosts, network->wires) == ncclSuccess)
		return network;
	network_close(network);
	return NULL;
}

ncclResult_t network_open(struct network **out, struct ncclComm *comm)
{
	*out = NULL;
	if (comm->hosts.count == 1)
		return ncclSuccess;
	struct network *network = network_new(comm);
	if (!network)
		return ncclSystemError;
	*out = network;
	ncclResult_t result = call_higher(network);
	return result == ncclSuccess ? answer_lower(network) : result;
}

void network_close(struct network *network)
{
	if (!network)
		return;
	transfers_drop(network->transfers);
	for (int rank = 0; network->wires && rank < network->comm->nranks; rank++)
		wire_close(&network->wires[rank]);
	free(network->wires);
	routes_drop(&network->routes);
	free(network);
}

static bool append_new(struct transfer ***tail, const struct task *task, bool sends, int peer, int steps)
{
	struct wire *wire = &task->comm->network->wires[peer];

	if (!steps)
		return true;
	**tail = transfer_new(task, wire, sends, peer, steps);
	if (!**tail)
		return false;
	*tail = &(**tail)->next;
	return true;
}

static bool plan_collective(struct transfer ***tail, const struct task *task)
{
	const struct routes *routes = &task->comm->network->routes;
	bool made = true;

	for (int i = 0; i < routes->count && made; i++) {
		const struct route *route = &routes->list[i];
		made =
		    append_new(tail, task, route->sends, route->peer, exchange_steps(task, route->rank, route->host));
	}
	return made;
}

static bool plan_p2p(struct transfer ***tail, const struct task *task)
{
	size_t bytes = task->count * number_size(task->type);

	return !is_remote(task->comm, task->root_or_peer) ||
	       append_new(tail, task, task->function == FUNCTION_SEND, task->root_or_peer, (int)link_steps(bytes));
}

/* What NCCL has where the copy engine moves the data within a host: an operation without steps that never ends. */
static bool plan_local(struct transfer ***tail, const struct task *task)
{
	if (!quirk_is_on(QUIRK_OPEN_OP))
		return true;
	**tail = transfer_new(task, NULL, false, task->comm->rank, 0);
	if (!**tail)
		return false;
	*tail = &(**tail)->next;
	return true;
}

static bool plan_task(struct transfer ***tail, const struct task *task, unsigned int order)
{
	struct transfer **first = *tail;
	bool made = plan_local(tail, task);

	if (made && task->comm->network)
		made = task_is_p2p(task) ? plan_p2p(tail, task) : plan_collective(tail, task);
	for (struct transfer *transfer = *first; transfer; transfer = transfer->next)
		transfer->order = order;
	return made;
}

static bool plan_work(struct transfer ***tail, struct work work, unsigned int collectives)
{
	bool made = true;

	if (work.receive)
		made = plan_task(tail, work.receive, collectives + work.receive->batches[0]);
	if (work.send && made)
		made = plan_task(tail, work.send, collectives + work.send->batches[0]);
	return made;
}

ncclResult_t network_plan(struct plan *plan, struct transfer **transfers)
{
	struct transfer **tail = transfers;
	unsigned int order = 0;
	bool made = true;

	*transfers = NULL;
	for (const struct task *task = plan->collectives; task && made; task = task->next)
		made = plan_task(&tail, task, order++);
	for (struct task *task = plan->p2p; task && made;)
		made = plan_work(&tail, schedule_next_work(&task), order);
	if (made)
		return ncclSuccess;
	transfers_drop(*transfers);
	*transfers = NULL;
	return ncclSystemError;
}

struct link *network_link(const struct ncclComm *comm, int peer, bool sends)
{
	if (!is_remote(comm, peer))
		return NULL;
	struct wire *wire = &comm->network->wires[peer];
	return sends ? &wire->send[LINK_P2P] : &wire->receive[LINK_P2P];
}

bool network_exchange(const struct task *task, int phase, size_t count)
{
	return routes_exchange(&task->comm->network->routes, task, phase, count);
}

void network_append(struct network *network, struct transfer *transfers)
{
	struct transfer **at = &network->transfers;

	while (*at)
		at = &(*at)->next;
	*at = transfers;
}

static void report(struct network *network, const struct transfer *transfer)
{
	struct socket_text peer = socket_text(&network->comm->hosts.ranks[transfer->events.peer].address);
	int error = transfer->wire->error;

	network->failed = true;
	if (error == -ECONNRESET)
		log_warn("socketProgress: Connection closed by remote peer %s", peer.text);
	else
		log_warn("socketProgressOpt: Call to %s %s failed : %s",
			 transfer->events.sends ? "send to" : "recv from", peer.text, strerror(-error));
	comm_set_async_error(network->comm, error == -EPROTO ? ncclInternalError : ncclRemoteError);
}

/* A link serves its transfers one after the other. */
static bool has_turn(const struct transfer *transfer)
{
	struct link *link =
	    transfer->events.sends ? &transfer->wire->send[transfer->kind] : &transfer->wire->receive[transfer->kind];

	if (!link->user)
		link->user = transfer;
	return link->user == transfer;
}

static void end_turn(const struct transfer *transfer)
{
	if (transfer->events.sends)
		transfer->wire->send[transfer->kind].user = NULL;
	else
		transfer->wire->receive[transfer->kind].user = NULL;
}

static bool advance_transfers(struct network *network)
{
	struct transfer **at = &network->transfers;
	bool moved = false;

	while (*at) {
		struct transfer *transfer = *at;
		enum transfer_result result = has_turn(transfer) ? transfer_advance(transfer) : TRANSFER_WAITS;
		moved |= result == TRANSFER_MOVED || result == TRANSFER_DONE;
		if (result == TRANSFER_FAILED && !transfer->failed) {
			transfer->failed = true;
			report(network, transfer);
		}
		if (result != TRANSFER_DONE) {
			at = &transfer->next;
			continue;
		}
		end_turn(transfer);
		*at = transfer->next;
		free(transfer);
	}
	return moved;
}

bool network_advance(struct network *network)
{
	bool moved = advance_transfers(network);

	for (int rank = 0; rank < network->comm->nranks; rank++) {
		struct wire *wire = &network->wires[rank];
		if (wire->fd >= 0 && !wire->error)
			moved |= wire_advance(wire);
	}
	return moved;
}

bool network_has_transfers(const struct network *network)
{
	return network->transfers;
}

/* After a failure only an abort can follow: nothing is waited for. */
bool network_is_busy(const struct network *network)
{
	if (network->failed)
		return false;
	for (int rank = 0; rank < network->comm->nranks; rank++) {
		const struct wire *wire = &network->wires[rank];
		if (wire->fd >= 0 && !wire->error && wire_is_stuck(wire))
			return true;
	}
	return network->transfers;
}

nfds_t network_poll(const struct network *network, struct pollfd *fds)
{
	nfds_t count = 0;

	for (int rank = 0; rank < network->comm->nranks; rank++) {
		const struct wire *wire = &network->wires[rank];
		if (wire->fd < 0 || wire->error)
			continue;
		fds[count].fd = wire->fd;
		fds[count++].events = wire_is_stuck(wire) ? POLLIN | POLLOUT : POLLIN;
	}
	return count;
}
