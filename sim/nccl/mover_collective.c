/* SPDX-License-Identifier: MIT */
/*
 * Each step: every rank writes its mailbox, all meet at the gate, every rank reads what it needs. The two mailboxes
 * alternate, so that one gate per step is enough: whoever writes a mailbox again has passed the gate behind which all
 * had finished reading it.
 */
#include <string.h>

#include "mover.h"
#include "number.h"

static void *outbox(struct ncclComm *comm)
{
	return segment_mailbox(&comm->segment, comm->rank, comm->turn);
}

/* Behind it the mailboxes of all ranks hold what was written into their outboxes. */
static bool publish(struct ncclComm *comm)
{
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

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The elements [from, to) of a piece that one rank reduces for all. */
struct share {
	size_t from, to;
};

static struct share share_of(int rank, int nranks, size_t count)
{
	size_t each = (count + (size_t)nranks - 1) / (size_t)nranks;

	return (struct share){ least(each * (size_t)rank, count), least(each * ((size_t)rank + 1), count) };
}

static bool all_reduce_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);
	struct share mine = share_of(comm->rank, comm->nranks, count);

	memcpy(outbox(comm), send, count * size);
	if (!publish(comm))
		return false;
	reduce_inboxes(task, outbox(comm), mine.from * size, mine.to - mine.from);
	if (!publish(comm))
		return false;
	for (int rank = 0; rank < comm->nranks; rank++) {
		struct share share = share_of(rank, comm->nranks, count);
		memcpy(recv + share.from * size, inbox(comm, rank), (share.to - share.from) * size);
	}
	return true;
}

static bool reduce_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;

	memcpy(outbox(comm), send, count * number_size(task->type));
	if (!publish(comm))
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
		memcpy(outbox(comm), send, bytes);
	if (!publish(comm))
		return false;
	if (!root || send != recv)
		memcpy(recv, inbox(comm, task->root_or_peer), bytes);
	return true;
}

static bool all_gather_piece(const struct task *task, const char *send, char *recv, size_t count)
{
	struct ncclComm *comm = task->comm;
	size_t size = number_size(task->type);

	memcpy(outbox(comm), send, count * size);
	if (!publish(comm))
		return false;
	for (int rank = 0; rank < comm->nranks; rank++)
		memcpy(recv + (size_t)rank * task->count * size, inbox(comm, rank), count * size);
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
		memcpy(out + (size_t)rank * part_bytes, send + (size_t)rank * task->count * size, part_bytes);
	if (!publish(comm))
		return false;
	reduce_inboxes(task, recv, (size_t)comm->rank * part_bytes, count);
	return true;
}

static const struct {
	bool (*piece)(const struct task *task, const char *send, char *recv, size_t count);
	bool part_for_each_rank;
} collectives[FUNCTIONS] = {
	[FUNCTION_ALLREDUCE] = { all_reduce_piece, false },        [FUNCTION_REDUCE] = { reduce_piece, false },
	[FUNCTION_BROADCAST] = { broadcast_piece, false },         [FUNCTION_ALLGATHER] = { all_gather_piece, false },
	[FUNCTION_REDUCESCATTER] = { reduce_scatter_piece, true },
};

bool mover_collective(const struct task *task)
{
	size_t size = number_size(task->type);
	size_t most = task->comm->segment.mailbox_bytes / size;

	if (collectives[task->function].part_for_each_rank)
		most /= (size_t)task->comm->nranks;
	for (size_t at = 0; at < task->count; at += most) {
		/* The buffer that a rooted call leaves NULL on other ranks is not touched there. */
		const char *send = (const char *)((uintptr_t)task->send + at * size);
		char *recv = (char *)((uintptr_t)task->recv + at * size);
		if (!collectives[task->function].piece(task, send, recv, least(most, task->count - at)))
			return false;
	}
	return true;
}
