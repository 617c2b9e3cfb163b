/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/exchange.h"

#include "sim/nccl/data/number.h"
#include "sim/nccl/launch/protocol.h"
#include "sim/nccl/network/link.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

struct exchange_share exchange_share(int rank, int nranks, size_t count)
{
	size_t each = (count + (size_t)nranks - 1) / (size_t)nranks;

	return (struct exchange_share){ least(each * (size_t)rank, count), least(each * ((size_t)rank + 1), count) };
}

size_t exchange_piece(const struct task *task)
{
	size_t elements = task->comm->segment.mailbox_bytes / number_size(task->type);

	switch (task->function) {
	case FUNCTION_REDUCESCATTER:
	case FUNCTION_ALLTOALL:
	case FUNCTION_SCATTER:
		return elements / (size_t)task->comm->nranks; /* the outbox holds a part for each rank */
	default:
		return elements;
	}
}

size_t exchange_bytes(const struct task *task, int phase, size_t count, int rank, int host)
{
	const struct hosts *hosts = &task->comm->hosts;
	size_t size = number_size(task->type);

	if (phase == 1) {
		struct exchange_share share = exchange_share(rank, hosts->nranks, count);
		return task->function == FUNCTION_ALLREDUCE ? (share.to - share.from) * size : 0;
	}
	switch (task->function) {
	case FUNCTION_BROADCAST:
		return rank == task->root_or_peer ? count * size : 0;
	case FUNCTION_SCATTER:
		return rank == task->root_or_peer ? count * size * (size_t)hosts->nranks : 0;
	case FUNCTION_REDUCE:
	case FUNCTION_GATHER:
		return host == hosts->places[task->root_or_peer].host ? count * size : 0;
	case FUNCTION_REDUCESCATTER:
	case FUNCTION_ALLTOALL:
		return count * size * (size_t)hosts->nranks;
	default:
		return count * size;
	}
}

size_t exchange_phase_steps(const struct task *task, size_t bytes)
{
	size_t ring = least((size_t)protocol_ring_steps(task), bytes), link = link_steps(bytes);

	return ring > link ? ring : link;
}

static size_t piece_steps(const struct task *task, size_t count, int rank, int host)
{
	size_t steps = 0;

	for (int phase = 0; phase < EXCHANGE_PHASES; phase++)
		steps += exchange_phase_steps(task, exchange_bytes(task, phase, count, rank, host));
	return steps;
}

int exchange_steps(const struct task *task, int rank, int host)
{
	size_t piece = exchange_piece(task);
	size_t whole = task->count / piece, rest = task->count % piece;

	return (int)(whole * piece_steps(task, piece, rank, host) + piece_steps(task, rest, rank, host));
}
