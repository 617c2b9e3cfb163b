/* SPDX-License-Identifier: MIT */
/*
 * A NCCL that does nothing: no lock, no system call, no driver call, so that whatever a test sees between a program and
 * the return of its calls is the interposer's. With hooks it can make a profiler plugin's callbacks where NCCL would.
 */
#ifndef TESTS_NULL_NCCL_H
#define TESTS_NULL_NCCL_H

#include <stddef.h>

struct null_call {
	const char *function;
	size_t count;
	int peer; /* -1: a collective */
	const void *send;
	void *recv;
	void *stream;
	void *comm;
};

/* All may be NULL. Called on the thread of the call. */
struct null_nccl_hooks {
	void (*init)(void *comm, int nranks, int rank);
	void (*call)(const struct null_call *call);
	void (*launch)(void);    /* behind a call outside a group, and at the end of the outermost group */
	void (*end)(void *comm); /* destroyed or aborted */
};

extern struct null_nccl_hooks null_nccl_hooks;
/* CUDA device of communicators made from now on. */
extern int null_nccl_device;

/* The next call of this query (ncclCommCuDevice) does not return before null_nccl_block(NULL); calls of other threads
 * meanwhile do. */
void null_nccl_block(const char *name);
/* Has a call been blocked? */
int null_nccl_is_blocked(void);

struct null_unique_id {
	char bytes[128];
};

int ncclCommInitRank(void **comm, int nranks, struct null_unique_id id, int rank);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream);

enum { NULL_NCCL_FLOAT = 7, NULL_NCCL_SUM = 0 };

#endif
