/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/protocol.h"

#include <stdlib.h>
#include <strings.h>

#include "sim/nccl/data/number.h"
#include "sim/nccl/network/link.h"

#define SIMPLE_FROM_BYTES (64u << 10)
/* Of NCCL 2.28.9, from its source: a buffer has eight steps; a chunk has four of them, and goes in two slices. */
#define SIMPLE_STEP_BYTES (512 << 10)
#define SIMPLE_CHUNK      4
#define SIMPLE_SLICES     2
#define LL_CHUNK_BYTES    (32 << 10)

bool protocol_is_simple(const struct task *task)
{
	const char *wanted = getenv("NCCL_PROTO");

	if (wanted && strcasecmp(wanted, "Simple") == 0)
		return true;
	if (wanted && strcasecmp(wanted, "LL") == 0)
		return false;
	return task->count * number_size(task->type) >= SIMPLE_FROM_BYTES;
}

/* The others go from rank to rank in chunks of one step. */
static bool goes_round(const struct task *task)
{
	return task->function == FUNCTION_ALLREDUCE || task->function == FUNCTION_ALLGATHER ||
	       task->function == FUNCTION_REDUCESCATTER;
}

int protocol_ring_steps(const struct task *task)
{
	int slices = protocol_is_simple(task) ? SIMPLE_SLICES : 1;

	return goes_round(task) ? (task->comm->nranks - 1) * slices : 1;
}

int protocol_chunk_bytes(const struct task *task)
{
	if (task_is_p2p(task))
		return (int)LINK_STEP_BYTES;
	if (!protocol_is_simple(task))
		return LL_CHUNK_BYTES;
	/* NCCL multiplies the chunk by the steps of a slice, too. */
	return goes_round(task) ? SIMPLE_STEP_BYTES * SIMPLE_CHUNK * (SIMPLE_CHUNK / SIMPLE_SLICES) : SIMPLE_STEP_BYTES;
}
