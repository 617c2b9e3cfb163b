/* SPDX-License-Identifier: MIT */
/* Exports NCCL's functions. */
#pragma GCC visibility push(default)
#include "played_nccl.h"
int ncclGetVersion(int *version);

struct played_nccl played_nccl;
#pragma GCC visibility pop

enum { COMMUNICATORS = 32 };

static struct played_communicator {
	int nranks, rank, device;
} communicators[COMMUNICATORS] __attribute__((aligned(16)));
static int used, depth;

int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}

/* As NCCL: nothing is made by a call that fails. Their memory is used again. */
static int make(void **comm, int nranks, int rank)
{
	struct played_communicator *made = played_nccl.next ? played_nccl.next : &communicators[used++ % COMMUNICATORS];

	*comm = NULL;
	if (played_nccl.inside)
		played_nccl.inside();
	if (played_nccl.result && played_nccl.result != NCCL_IN_PROGRESS)
		return played_nccl.result;
	*made = (struct played_communicator){ nranks, rank, played_nccl.device };
	*comm = made;
	if (played_nccl.init)
		played_nccl.init(made, nranks, rank);
	return played_nccl.result;
}

static int launch(void)
{
	if (!depth && played_nccl.launch && !played_nccl.result)
		played_nccl.launch();
	return played_nccl.result;
}

static int call(const struct played_call *called)
{
	if (played_nccl.call && !played_nccl.result)
		played_nccl.call(called);
	return launch();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* roots and operators */
#define X(name, parameters, peer)                                                                                      \
	int nccl##name parameters                                                                                      \
	{                                                                                                              \
		return call(&(struct played_call){ #name, count, type, peer, comm, stream, send, recv });              \
	}
PLAYED_FUNCTIONS(X)
#pragma GCC diagnostic pop

/* Through the name that can be replaced, as NCCL. */
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream)
{
	return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream)
{
	return call(&(struct played_call){ "Send", count, type, peer, comm, stream, send, NULL });
}

int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream)
{
	return call(&(struct played_call){ "Recv", count, type, peer, comm, stream, NULL, recv });
}

int ncclGroupStart(void)
{
	depth++;
	return 0;
}

int ncclGroupEnd(void)
{
	depth--;
	if (!depth && played_nccl.inside)
		played_nccl.inside();
	return launch();
}

int ncclGroupSimulateEnd(void *info)
{
	(void)info;
	depth--;
	return 0;
}

int ncclCommInitRank(void **comm, int nranks, struct nccl_unique_id id, int rank)
{
	(void)id;
	return make(comm, nranks, rank);
}

int ncclCommInitRankConfig(void **comm, int nranks, struct nccl_unique_id id, int rank, struct nccl_config *config)
{
	(void)id, (void)config;
	return make(comm, nranks, rank);
}

int ncclCommInitRankScalable(void **comm, int nranks, int rank, int id_count, struct nccl_unique_id *ids,
			     struct nccl_config *config)
{
	(void)id_count, (void)ids, (void)config;
	return make(comm, nranks, rank);
}

int ncclCommInitAll(void **comms, int count, const int *devices)
{
	for (int i = 0; i < count; i++) {
		played_nccl.device = devices ? devices[i] : i;
		make(&comms[i], count, i);
	}
	return played_nccl.result;
}

int ncclCommSplit(void *parent, int color, int key, void **comm, struct nccl_config *config)
{
	(void)parent, (void)key, (void)config;
	*comm = NULL;
	if (color != NCCL_SPLIT_NO_COLOR)
		return make(comm, played_nccl.nranks, played_nccl.rank);
	if (played_nccl.inside)
		played_nccl.inside();
	return played_nccl.result;
}

int ncclCommShrink(void *parent, int *excluded, int excluded_count, void **comm, struct nccl_config *config, int flags)
{
	(void)parent, (void)excluded, (void)excluded_count, (void)config, (void)flags;
	return make(comm, played_nccl.nranks, played_nccl.rank);
}

int ncclCommGrow(void *parent, int nranks, const struct nccl_unique_id *id, int rank, void **comm,
		 struct nccl_config *config)
{
	(void)id, (void)config;
	return make(comm, nranks, parent ? played_nccl.rank : rank);
}

int ncclCommRevoke(void *comm, int flags)
{
	(void)comm, (void)flags;
	return played_nccl.result;
}

int ncclSignal(int peer, int signal, int ctx, unsigned int flags, void *comm, void *stream)
{
	(void)peer, (void)signal, (void)ctx, (void)flags, (void)comm, (void)stream;
	return played_nccl.result;
}

int ncclCommSuspend(void *comm, int flags)
{
	(void)comm, (void)flags;
	if (played_nccl.inside)
		played_nccl.inside();
	return played_nccl.result;
}

int ncclCommResume(void *comm)
{
	return ncclCommSuspend(comm, 0);
}

static int end(void *comm)
{
	if (played_nccl.end)
		played_nccl.end(comm);
	return 0;
}

int ncclCommDestroy(void *comm)
{
	return end(comm);
}

int ncclCommAbort(void *comm)
{
	return end(comm);
}

int ncclCommGetAsyncError(void *comm, int *state)
{
	(void)comm;
	*state = played_nccl.state;
	return 0;
}

int ncclCommCount(void *comm, int *count)
{
	*count = ((struct played_communicator *)comm)->nranks;
	return 0;
}

int ncclCommUserRank(void *comm, int *rank)
{
	*rank = ((struct played_communicator *)comm)->rank;
	return 0;
}

int ncclCommCuDevice(void *comm, int *device)
{
	*device = ((struct played_communicator *)comm)->device;
	return 0;
}
