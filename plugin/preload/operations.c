/* SPDX-License-Identifier: MIT */
/* NCCL's collective and p2p calls, as they are found first by whoever calls them. */
#include <stdint.h>

#include <rankwatch/operation.h>

#include "plugin/operations/call.h"
#include "plugin/preload/membership.h"
#include "plugin/preload/preload.h"

static uint8_t dtype_of(int type)
{
	return type >= 0 && type < RW_DTYPE_COUNT - 1 ? (uint8_t)(type + 1) : RW_DTYPE_UNKNOWN;
}

/* ncclRedOp_t: beyond its own operators are those that the program makes. */
static uint8_t reduction_of(int op)
{
	if (op < 0)
		return RW_OPERATOR_UNKNOWN;
	return op < RW_OPERATOR_AVERAGE ? (uint8_t)(op + 1) : RW_OPERATOR_SCALED_SUM;
}

static void begin(struct call *call, struct membership *membership)
{
	call->communicator = membership ? membership_communicator(membership) : NULL;
	call_begin(call);
}

static int end(struct call *call, int result)
{
	call_end(call, preload_result(result));
	return result;
}

/*
 * What a NCCL call is made of. The real function lies between begin() and end(), on the caller's thread: what has to be
 * done right before or after it on the caller's stream belongs there.
 */
#define WRAP(NAME, PARAMETERS, ARGUMENTS, FUNCTION, COUNT, OP, ROOT, PEER, SEND, RECV)                                 \
	PRELOAD_EXPORT int nccl##NAME PARAMETERS;                                                                      \
	int nccl##NAME PARAMETERS                                                                                      \
	{                                                                                                              \
		struct membership *membership = membership_find(comm);                                                 \
		PRELOAD_REAL(NAME, PARAMETERS, membership);                                                            \
		if (!preload_is_on() || COUNT == 0)                                                                    \
			return real ARGUMENTS;                                                                         \
		struct call call = {                                                                                   \
			.what = { .function = RW_FUNCTION_##FUNCTION,                                                  \
				  .dtype = dtype_of(type),                                                             \
				  .reduction = reduction_of(OP),                                                       \
				  .root = ROOT,                                                                        \
				  .count = COUNT,                                                                      \
				  .stream = (uintptr_t)stream },                                                       \
			.send = (uintptr_t)(SEND),                                                                     \
			.recv = (uintptr_t)(RECV),                                                                     \
			.peer = PEER,                                                                                  \
		};                                                                                                     \
		begin(&call, membership);                                                                              \
		return end(&call, real ARGUMENTS);                                                                     \
	}

/* Those that since 2.31 also exist with a configuration of their own, which nobody here looks at. */
#define LIST(...) __VA_ARGS__
#define WRAP_BOTH(NAME, PARAMETERS, ARGUMENTS, ...)                                                                    \
	WRAP(NAME, PARAMETERS, ARGUMENTS, __VA_ARGS__)                                                                 \
	WRAP(NAME##Config, (LIST PARAMETERS, const void *config), (LIST ARGUMENTS, config), __VA_ARGS__)

/* clang-format off */
WRAP_BOTH(AllReduce, (const void *send, void *recv, size_t count, int type, int op, nccl_comm comm, nccl_stream stream),
     (send, recv, count, type, op, comm, stream), ALL_REDUCE, count, op, -1, -1, send, recv)
WRAP_BOTH(Reduce, (const void *send, void *recv, size_t count, int type, int op, int root, nccl_comm comm,
     nccl_stream stream),
     (send, recv, count, type, op, root, comm, stream), REDUCE, count, op, root, -1, send, recv)
WRAP_BOTH(ReduceScatter, (const void *send, void *recv, size_t count, int type, int op, nccl_comm comm,
     nccl_stream stream),
     (send, recv, count, type, op, comm, stream), REDUCE_SCATTER, count, op, -1, -1, send, recv)
WRAP_BOTH(AllGather, (const void *send, void *recv, size_t count, int type, nccl_comm comm, nccl_stream stream),
     (send, recv, count, type, comm, stream), ALL_GATHER, count, -1, -1, -1, send, recv)
WRAP_BOTH(AlltoAll, (const void *send, void *recv, size_t count, int type, nccl_comm comm, nccl_stream stream),
     (send, recv, count, type, comm, stream), ALL_TO_ALL, count, -1, -1, -1, send, recv)
WRAP_BOTH(Broadcast, (const void *send, void *recv, size_t count, int type, int root, nccl_comm comm,
     nccl_stream stream),
     (send, recv, count, type, root, comm, stream), BROADCAST, count, -1, root, -1, send, recv)
WRAP(Bcast, (void *buffer, size_t count, int type, int root, nccl_comm comm, nccl_stream stream),
     (buffer, count, type, root, comm, stream), BROADCAST, count, -1, root, -1, buffer, buffer)
WRAP_BOTH(Gather, (const void *send, void *recv, size_t count, int type, int root, nccl_comm comm, nccl_stream stream),
     (send, recv, count, type, root, comm, stream), GATHER, count, -1, root, -1, send, recv)
WRAP_BOTH(Scatter, (const void *send, void *recv, size_t count, int type, int root, nccl_comm comm, nccl_stream stream),
     (send, recv, count, type, root, comm, stream), SCATTER, count, -1, root, -1, send, recv)
WRAP(Send, (const void *send, size_t count, int type, int peer, nccl_comm comm, nccl_stream stream),
     (send, count, type, peer, comm, stream), SEND, count, -1, -1, peer, send, 0)
WRAP(Recv, (void *recv, size_t count, int type, int peer, nccl_comm comm, nccl_stream stream),
     (recv, count, type, peer, comm, stream), RECV, count, -1, -1, peer, 0, recv)
/* clang-format on */
