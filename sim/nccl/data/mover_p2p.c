/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "sim/nccl/data/flip.h"
#include "sim/nccl/data/mover.h"
#include "sim/nccl/data/number.h"
#include "sim/nccl/network/network.h"

static size_t task_bytes(const struct task *task)
{
	return task->count * number_size(task->type);
}

static size_t piece_bytes(const struct task *task)
{
	size_t left = task_bytes(task) - task->moved;

	return left < task->comm->segment.channel_bytes ? left : task->comm->segment.channel_bytes;
}

/* The bell of the rank at the other end wakes it to look again. */
static void ring(struct ncclComm *comm, int rank)
{
	bell_ring(&comm->segment.shared->ranks[rank].bell);
}

static bool send_piece(struct task *task)
{
	struct segment *segment = &task->comm->segment;
	int from = task->comm->rank, to = task->root_or_peer;
	struct channel *channel = segment_channel(segment, from, to);
	uint32_t piece = atomic_load_explicit(&channel->written, memory_order_relaxed);

	/* Pairs with the release in receive_piece(): the slot has been read. */
	if (piece - atomic_load_explicit(&channel->read, memory_order_acquire) == SEGMENT_CHANNEL_SLOTS)
		return false;
	size_t bytes = piece_bytes(task);
	memcpy(segment_channel_slot(segment, from, to, piece), (const char *)task->send + task->moved, bytes);
	channel->bytes[piece % SEGMENT_CHANNEL_SLOTS] = (uint32_t)bytes;
	/* Publishes the piece; pairs with the acquire in receive_piece(). */
	atomic_store_explicit(&channel->written, piece + 1, memory_order_release);
	task->moved += bytes;
	ring(task->comm, to);
	return true;
}

static bool receive_piece(struct task *task)
{
	struct segment *segment = &task->comm->segment;
	int from = task->root_or_peer, to = task->comm->rank;
	struct channel *channel = segment_channel(segment, from, to);
	uint32_t piece = atomic_load_explicit(&channel->read, memory_order_relaxed);

	if (atomic_load_explicit(&channel->written, memory_order_acquire) == piece)
		return false;
	size_t bytes = channel->bytes[piece % SEGMENT_CHANNEL_SLOTS];
	if (bytes > piece_bytes(task)) /* sender and receiver disagree: never write behind the buffer */
		bytes = piece_bytes(task);
	memcpy((char *)task->recv + task->moved, segment_channel_slot(segment, from, to, piece), bytes);
	atomic_store_explicit(&channel->read, piece + 1, memory_order_release);
	task->moved += bytes;
	ring(task->comm, from);
	return true;
}

/* The same with a rank of another host. */
static bool move_remote(struct task *task, struct link *link)
{
	size_t left = task_bytes(task) - task->moved;
	size_t bytes = task->function == FUNCTION_SEND ? link_fill(link, (const char *)task->send + task->moved, left) :
							 link_empty(link, (char *)task->recv + task->moved, left);

	task->moved += bytes;
	if (bytes)
		comm_wake_proxy(task->comm);
	return bytes;
}

static bool move_piece(struct task *task)
{
	bool sends = task->function == FUNCTION_SEND;
	struct link *link = network_link(task->comm, task->root_or_peer, sends);

	if (link)
		return move_remote(task, link);
	return sends ? send_piece(task) : receive_piece(task);
}

static bool is_done(const struct task *task)
{
	return task->moved == task_bytes(task);
}

/* Calls between the same two ranks are served in the order they were made: a later one waits for the earlier. */
static bool is_turn(const struct task *tasks, const struct task *task)
{
	for (const struct task *earlier = tasks; earlier != task; earlier = earlier->next) {
		if (earlier->function == task->function && earlier->root_or_peer == task->root_or_peer &&
		    !is_done(earlier))
			return false;
	}
	return true;
}

static bool advance(struct task *tasks, bool *done)
{
	bool moved = false;

	*done = true;
	for (struct task *task = tasks; task; task = task->next) {
		while (!is_done(task) && is_turn(tasks, task) && move_piece(task))
			moved = true;
		*done &= is_done(task);
	}
	return moved;
}

/* In the order in which they were called: in which order they were done is chance. */
static void flip_all_received(const struct task *tasks)
{
	for (const struct task *task = tasks; task; task = task->next)
		if (task->function == FUNCTION_RECV)
			flip_received(task, task->comm->moved[FUNCTION_RECV]++);
}

bool mover_p2p(struct task *tasks)
{
	struct ncclComm *comm = tasks->comm;
	_Atomic uint32_t *bell = &comm->segment.shared->ranks[comm->rank].bell;
	bool done = false;

	while (!done) {
		/* Before looking: what moves after this makes the wait return at once. */
		uint32_t seen = atomic_load(bell);
		if (atomic_load(&comm->stop))
			return false;
		if (!advance(tasks, &done) && !done)
			bell_wait(bell, seen);
	}
	flip_all_received(tasks);
	return true;
}
