/* SPDX-License-Identifier: MIT */
#include "tests/null/null_nccl.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/* Weak ncclX and strong pncclX, as NCCL has them. */
#define FUNCTION(name, ...)                                                                                            \
	EXPORT int pnccl##name(__VA_ARGS__);                                                                           \
	EXPORT __attribute__((weak, alias("pnccl" #name))) int nccl##name(__VA_ARGS__);                                \
	int pnccl##name(__VA_ARGS__)

enum { COMMUNICATORS = 1024 };

/* Given out in turn: a thread that goes on with a communicator that another one has aborted does not soon find the next
 * one there. */
struct communicator {
	atomic_int nranks, rank, device, used;
};

EXPORT struct null_nccl_hooks null_nccl_hooks;
EXPORT int null_nccl_device;

static struct communicator communicators[COMMUNICATORS];

static const char *_Atomic blocked;
static atomic_int waiting;

EXPORT void null_nccl_block(const char *name)
{
	blocked = name;
}

EXPORT int null_nccl_is_blocked(void)
{
	return waiting;
}

static void enter(const char *name)
{
	const char *now = blocked;

	if (!now || strcmp(now, name) != 0)
		return;
	if (waiting++)
		waiting--; /* only the first caller waits */
	else
		while (blocked)
			usleep(1000);
}

FUNCTION(CommInitRank, void **comm, int nranks, struct null_unique_id id, int rank)
{
	static atomic_uint next;
	struct communicator *made;
	int tries = 0;

	(void)id;
	do
		made = &communicators[next++ % COMMUNICATORS];
	while (atomic_exchange(&made->used, 1) && ++tries < COMMUNICATORS);
	if (tries == COMMUNICATORS)
		return 1;
	made->nranks = nranks;
	made->rank = rank;
	made->device = null_nccl_device;
	*comm = made;
	if (null_nccl_hooks.init)
		null_nccl_hooks.init(made, nranks, rank);
	return 0;
}

static int end(struct communicator *communicator)
{
	if (null_nccl_hooks.end)
		null_nccl_hooks.end(communicator);
	atomic_store(&communicator->used, 0);
	return 0;
}

FUNCTION(CommDestroy, void *comm)
{
	return end(comm);
}

FUNCTION(CommAbort, void *comm)
{
	return end(comm);
}

FUNCTION(CommGetAsyncError, void *comm, int *state)
{
	(void)comm;
	*state = 0;
	return 0;
}

FUNCTION(CommCount, void *comm, int *count)
{
	*count = ((struct communicator *)comm)->nranks;
	return 0;
}

FUNCTION(CommUserRank, void *comm, int *rank)
{
	*rank = ((struct communicator *)comm)->rank;
	return 0;
}

FUNCTION(CommCuDevice, void *comm, int *device)
{
	enter("ncclCommCuDevice");
	*device = ((struct communicator *)comm)->device;
	return 0;
}

static _Thread_local int depth;

FUNCTION(GroupStart, void)
{
	depth++;
	return 0;
}

static int launch(void)
{
	if (!depth && null_nccl_hooks.launch)
		null_nccl_hooks.launch();
	return 0;
}

FUNCTION(GroupEnd, void)
{
	depth--;
	return launch();
}

static int call(const struct null_call *call)
{
	if (null_nccl_hooks.call)
		null_nccl_hooks.call(call);
	return launch();
}

FUNCTION(AllReduce, const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
	(void)type, (void)op;
	return call(&(struct null_call){ "AllReduce", count, -1, send, recv, stream, comm });
}

FUNCTION(AllGather, const void *send, void *recv, size_t count, int type, void *comm, void *stream)
{
	(void)type;
	return call(&(struct null_call){ "AllGather", count, -1, send, recv, stream, comm });
}

FUNCTION(Send, const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
	(void)type;
	return call(&(struct null_call){ "Send", count, peer, send, NULL, stream, comm });
}

FUNCTION(Recv, void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
	(void)type;
	return call(&(struct null_call){ "Recv", count, peer, NULL, recv, stream, comm });
}
