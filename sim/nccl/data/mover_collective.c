/* SPDX-License-Identifier: MIT */
/*
 * Each step: every rank writes its mailbox, all meet at the gate, every rank reads what it needs. The two mailboxes
 * alternate, so that one gate per step is enough: whoever writes a mailbox again has passed the gate behind which all
 * had finished reading it.
 */
#include <string.h>

#include "sim/nccl/data/fabric.h"
#include "sim/nccl/data/flip.h"
#include "sim/nccl/data/mover.h"
#include "sim/nccl/data/number.h"
#include "sim/nccl/network/exchange.h"
#include "sim/nccl/network/network.h"

static void *outbox(struct ncclComm *comm)
{
	return segment_mailbox(&comm->segment, comm->rank, comm->turn);
}

/* Into an outbox, multiplied where the operator says so. */
static void stage(const struct task *task, void *out, const char *send, size_t count)
{
	const struct factor *factor = &task->factor;
	size_t bytes = count * number_size(task->type);

	if (factor->used)
		number_scale(task->type, out, send, factor->device ? factor->device : &factor->value, count);
	else
		memcpy(out, send, bytes);
	flip_sent(task, task->comm->moved[task->function], out, (size_t)(send - (const char *)task->send), bytes);
}

/* Behind it the mailboxes of all ranks hold what was written into their outboxes. */
static bool publish(const struct task *task, int phase, size_t count)
{
	struct ncclComm *comm = task->comm;

	if (comm->network && !network_exchange(task, phase, count))
		return false;
	comm->turn++;
	return gate_pass(&comm->segment.shared->stream_gate, hosts_size(&comm->hosts), &comm->stop);
}

static const char *inbox(const struct ncclComm *comm, int rank)
{
	return segment_mailbox(&comm->segment, rank, comm->turn - 1);
}

static void reduce_inboxes(const struct task *task, void *out, size_t offset, size_t count)
{
	const void *in[SEGMENT_RANKS_MAX];

	for (int rank = 0; rank < task->comm->nranks; rank++)
		in[rank] = inbox(task->comm, rank) + offset;
	number_reduce(task->type, task->op, out, in, task->comm->nranks, count);
}

static bool all_reduce_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);
	struct exchange_share mine = exchange_share(comm->rank, comm->nranks, count);

	stage(task, outbox(comm), send, count);
	if (!publish(task, 0, count))
		return false;
	reduce_inboxes(task, outbox(comm), mine.from * size, mine.to - mine.from);
	if (!publish(task, 1, count))
		return false;
	for (int rank = 0; rank < comm->nranks; rank++) {
		struct exchange_share share = exchange_share(rank, comm->nranks, count);
		memcpy(recv + share.from * size, inbox(comm, rank), (share.to - share.from) * size);
	}
	return true;
}

static bool reduce_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;

	stage(task, outbox(comm), send, count);
	if (!publish(task, 0, count))
		return false;
	if (comm->rank == task->root_or_peer)
		reduce_inboxes(task, recv, 0, count);
	return true;
}

static bool broadcast_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t bytes = count * number_size(task->type);
	bool root = comm->rank == task->root_or_peer;

	if (root)
		stage(task, outbox(comm), send, count);
	if (!publish(task, 0, count))
		return false;
	if (!root)
		memcpy(recv, inbox(comm, task->root_or_peer), bytes);
	else if (send != recv)
		memcpy(recv, send, bytes);
	return true;
}

/* What a rank sends does not come back to it: its own segment is a copy of its input. */
static bool all_gather_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);

	stage(task, outbox(comm), send, count);
	if (!publish(task, 0, count))
		return false;
	for (int rank = 0; rank < comm->nranks; rank++) {
		char *segment = recv + (size_t)rank * task->count * size;
		if (rank != comm->rank)
			memcpy(segment, inbox(comm, rank), count * size);
		else if (segment != send)
			memcpy(segment, send, count * size);
	}
	return true;
}

/* The outbox holds one part for each rank, part_bytes apart. */
static bool reduce_scatter_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);
	size_t part_bytes = count * size;
	char *out = outbox(comm);

	for (int rank = 0; rank < comm->nranks; rank++)
		stage(task, out + (size_t)rank * part_bytes, send + (size_t)rank * task->count * size, count);
	if (!publish(task, 0, count))
		return false;
	reduce_inboxes(task, recv, (size_t)comm->rank * part_bytes, count);
	return true;
}

/* A part for each rank, as above. The three below are the copy engine's; else they are sends and receives. */
static void put_parts(const struct task *task, const char *send, size_t part_bytes)
{
	size_t stride = task->count * number_size(task->type);

	for (int rank = 0; rank < task->comm->nranks; rank++)
		memcpy((char *)outbox(task->comm) + (size_t)rank * part_bytes, send + (size_t)rank * stride,
		       part_bytes);
}

static bool all_to_all_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);
	size_t part_bytes = count * size;

	put_parts(task, send, part_bytes);
	if (!publish(task, 0, count))
		return false;
	for (int rank = 0; rank < comm->nranks; rank++)
		memcpy(recv + (size_t)rank * task->count * size, inbox(comm, rank) + (size_t)comm->rank * part_bytes,
		       part_bytes);
	return true;
}

static bool gather_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);

	memcpy(outbox(comm), send, count * size);
	if (!publish(task, 0, count))
		return false;
	for (int rank = 0; rank < comm->nranks && comm->rank == task->root_or_peer; rank++)
		memcpy(recv + (size_t)rank * task->count * size, inbox(comm, rank), count * size);
	return true;
}

static bool scatter_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t part_bytes = count * number_size(task->type);

	if (comm->rank == task->root_or_peer)
		put_parts(task, send, part_bytes);
	if (!publish(task, 0, count))
		return false;
	memcpy(recv, inbox(comm, task->root_or_peer) + (size_t)comm->rank * part_bytes, part_bytes);
	return true;
}

static bool (*const pieces[FUNCTIONS])(const struct task *task, const char *send, char *recv, size_t count) = {
	[FUNCTION_ALLREDUCE] = all_reduce_piece,
	[FUNCTION_REDUCE] = reduce_piece,
	[FUNCTION_BROADCAST] = broadcast_piece,
	[FUNCTION_ALLGATHER] = all_gather_piece,
	[FUNCTION_REDUCESCATTER] = reduce_scatter_piece,
	[FUNCTION_ALLTOALL] = all_to_all_piece,
	[FUNCTION_GATHER] = gather_piece,
	[FUNCTION_SCATTER] = scatter_piece,
};

static bool move(const struct task *task)
{
	size_t size = number_size(task->type);
	size_t most = exchange_piece(task);

	for (size_t at = 0; at < task->count; at += most) {
		/* The buffer that a rooted call leaves NULL on other ranks is not touched there. */
		const char *send = (const char *)((uintptr_t)task->send + at * size);
		char *recv = (char *)((uintptr_t)task->recv + at * size);
		if (!pieces[task->function](task, send, recv, task->count - at < most ? task->count - at : most))
			return false;
	}
	return true;
}

bool mover_collective(const struct task *task)
{
	uint64_t *moved = &task->comm->moved[task->function];

	if (!fabric_let_pass(task, *moved) || !move(task))
		return false;
	flip_received(task, *moved);
	++*moved;
	fabric_end(task);
	return true;
}
