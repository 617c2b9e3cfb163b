/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/connect.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/nccl/data/fabric.h"
#include "sim/nccl/launch/async.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

static bool is_zero(const char *name)
{
	const char *text = getenv(name);

	return text && strcmp(text, "0") == 0;
}

void connect_init(struct ncclComm *comm)
{
	comm->collectives_connected =
	    !release()->connects_at_use || is_zero("NCCL_CUMEM_ENABLE") || is_zero("NCCL_RUNTIME_CONNECT");
}

/* The own end of the direction that the task uses. */
static _Atomic uint32_t *own_end(const struct task *task)
{
	const struct ncclComm *comm = task->comm;

	if (task->function == FUNCTION_SEND)
		return &segment_channel(&comm->segment, comm->rank, task->root_or_peer)->sender;
	return &segment_channel(&comm->segment, task->root_or_peer, comm->rank)->receiver;
}

static const _Atomic uint32_t *other_end(const struct task *task)
{
	const struct ncclComm *comm = task->comm;

	if (task->function == FUNCTION_SEND)
		return &segment_channel(&comm->segment, comm->rank, task->root_or_peer)->receiver;
	return &segment_channel(&comm->segment, task->root_or_peer, comm->rank)->sender;
}

/* Does the task's direction still have to come to that state? Copies to oneself need no connection. */
static bool lacks(const struct task *task, enum channel_end state)
{
	const struct hosts *hosts = &task->comm->hosts;
	int peer = task->root_or_peer;

	return peer != task->comm->rank && hosts->places[peer].host == hosts->own && atomic_load(own_end(task)) < state;
}

/* Waits until the other end of every task has come to that state. False: aborted. */
static bool wait_for_peers(const struct plan *plan, enum channel_end state)
{
	struct ncclComm *comm = plan->comm;
	_Atomic uint32_t *bell = &comm->segment.shared->ranks[comm->rank].bell;
	const struct task *task = plan->p2p;

	while (task) {
		uint32_t seen = atomic_load(bell);
		bool there = task->root_or_peer == comm->rank ||
			     comm->hosts.places[task->root_or_peer].host != comm->hosts.own ||
			     atomic_load(other_end(task)) >= state;
		if (atomic_load(&comm->stop))
			return false;
		if (there)
			task = task->next;
		else
			bell_wait(bell, seen);
	}
	return true;
}

/*
 * Two rounds: who has met its peers waits until they have met theirs. So a rank that does not come keeps also those
 * waiting that have no business with it.
 */
static ncclResult_t connect_pairs(struct plan *plan)
{
	struct ncclComm *comm = plan->comm;

	for (enum channel_end state = CHANNEL_OPEN; state <= CHANNEL_CONNECTED; state++) {
		for (const struct task *task = plan->p2p; task; task = task->next) {
			if (!lacks(task, state))
				continue;
			atomic_store(own_end(task), state);
			bell_ring(&comm->segment.shared->ranks[task->root_or_peer].bell);
		}
		if (!wait_for_peers(plan, state))
			return ncclInternalError;
	}
	return fabric_connect(comm);
}

static bool lacks_pairs(const struct plan *plan)
{
	for (const struct task *task = plan->p2p; task; task = task->next)
		if (lacks(task, CHANNEL_CONNECTED))
			return true;
	return false;
}

static ncclResult_t connect_ring(struct plan *plan)
{
	struct ncclComm *comm = plan->comm;
	ncclResult_t result =
	    hosts_meet_at(&comm->hosts, &comm->segment, &comm->segment.shared->ring_gate, &comm->stop);

	if (result == ncclSuccess)
		result = fabric_connect(comm);
	if (result == ncclSuccess)
		comm->collectives_connected = true;
	return atomic_load(&comm->stop) ? ncclInternalError : result;
}

/* Symmetric kernels and copy engines reach the other ranks' memory through their windows. */
static bool lacks_ring(const struct plan *plan)
{
	const struct task *task = plan->collectives;

	while (task && task->kind != TASK_CLASSIC)
		task = task->next;
	return task && !plan->comm->collectives_connected;
}

static const struct round {
	bool (*lacks)(const struct plan *plan);
	ncclResult_t (*connect)(struct plan *plan);
} rounds[] = { { lacks_pairs, connect_pairs }, { lacks_ring, connect_ring } };

struct connector {
	struct async async;
	struct connector *next;
	const struct round *round;
	struct plan *plan;
	ncclResult_t result;
};

static void run(struct connector *connector)
{
	connector->result = connector->round->connect(connector->plan);
}

static void connect_beside(struct async *async)
{
	run((struct connector *)((char *)async - offsetof(struct connector, async)));
}

static ncclResult_t run_all(struct connector *connectors)
{
	ncclResult_t result = ncclSuccess;

	if (connectors && !connectors->next) {
		run(connectors);
		return connectors->result;
	}
	for (struct connector *at = connectors; at; at = at->next) {
		at->async.run = connect_beside;
		/* The others wait for it for ever, which an abort ends. */
		if (!async_start(&at->async)) {
			log_warn("cannot start a thread to connect a communicator");
			at->round = NULL;
			at->result = ncclSystemError;
		}
	}
	for (struct connector *at = connectors; at; at = at->next) {
		if (at->round)
			pthread_join(at->async.thread, NULL);
		if (result == ncclSuccess)
			result = at->result;
	}
	return result;
}

static ncclResult_t connect_round(const struct round *round, struct plan *plans)
{
	struct connector *connectors = NULL;
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = plans; plan && result == ncclSuccess; plan = plan->next) {
		if (!round->lacks(plan))
			continue;
		struct connector *connector = calloc(1, sizeof(*connector));
		if (!connector) {
			result = ncclSystemError;
			break;
		}
		*connector = (struct connector){ .next = connectors, .round = round, .plan = plan };
		connectors = connector;
	}
	if (result == ncclSuccess)
		result = run_all(connectors);
	while (connectors) {
		struct connector *next = connectors->next;
		free(connectors);
		connectors = next;
	}
	return result;
}

ncclResult_t connect_plans(struct plan *plans)
{
	ncclResult_t result = ncclSuccess;

	for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds) && result == ncclSuccess; i++)
		result = connect_round(&rounds[i], plans);
	return result;
}
