/* SPDX-License-Identifier: MIT */
/* A NCCL that does nothing but call its hooks and return what the test says. */
#ifndef TESTS_UNIT_PLUGIN_PLAYED_NCCL_H
#define TESTS_UNIT_PLUGIN_PLAYED_NCCL_H

#include "plugin/nccl/nccl.h"

struct played_call {
	const char *function;
	size_t count;
	int type, peer; /* -1: a collective */
	void *comm, *stream;
	const void *send, *recv;
};

extern struct played_nccl {
	int result, state; /* of all calls; of ncclCommGetAsyncError */
	int device;
	int nranks, rank; /* of children */
	void *next;       /* where the next communicator lies: 16 bytes; NULL: in NCCL's own memory */
	void (*init)(void *comm, int nranks, int rank); /* NULL: nobody listens */
	void (*inside)(void); /* a call that makes a communicator, before it does, and the end of the outermost group */
	void (*call)(const struct played_call *call);
	void (*launch)(void);	 /* behind a call outside of a group, and at the end of the outermost one */
	void (*end)(void *comm);
} played_nccl;

#define PLAYED_FUNCTIONS(X)                                                                                            \
	X(AllReduce, (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream), -1)     \
	X(Reduce, (const void *send, void *recv, size_t count, int type, int op, int root, void *comm, void *stream),  \
	  -1)                                                                                                          \
	X(ReduceScatter, (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream), -1) \
	X(AllGather, (const void *send, void *recv, size_t count, int type, void *comm, void *stream), -1)             \
	X(AlltoAll, (const void *send, void *recv, size_t count, int type, void *comm, void *stream), -1)              \
	X(Broadcast, (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream), -1)   \
	X(Gather, (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream), -1)      \
	X(Scatter, (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream), -1)

#define X(name, parameters, peer) int nccl##name parameters;
PLAYED_FUNCTIONS(X)
#undef X
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream);
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclGroupSimulateEnd(void *info);
int ncclCommInitRank(void **comm, int nranks, struct nccl_unique_id id, int rank);
int ncclCommInitRankConfig(void **comm, int nranks, struct nccl_unique_id id, int rank, struct nccl_config *config);
int ncclCommInitRankScalable(void **comm, int nranks, int rank, int id_count, struct nccl_unique_id *ids,
			     struct nccl_config *config);
int ncclCommInitAll(void **comms, int count, const int *devices);
int ncclCommSplit(void *parent, int color, int key, void **comm, struct nccl_config *config);
int ncclCommGrow(void *parent, int nranks, const struct nccl_unique_id *id, int rank, void **comm,
		 struct nccl_config *config);
int ncclCommRevoke(void *comm, int flags);
int ncclSignal(int peer, int signal, int ctx, unsigned int flags, void *comm, void *stream);
int ncclCommSuspend(void *comm, int flags);
int ncclCommResume(void *comm);
int ncclCommShrink(void *parent, int *excluded, int excluded_count, void **comm, struct nccl_config *config, int flags);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
int ncclCommCount(void *comm, int *count);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommCuDevice(void *comm, int *device);

#endif
