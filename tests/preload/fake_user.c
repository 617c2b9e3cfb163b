/* SPDX-License-Identifier: MIT */
/* A library of a program that calls NCCL: linked to one, or to none (then the loader finds it, or somebody else). */
#include <stddef.h>

extern int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream);
extern int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream);
extern int ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream)
    __attribute__((weak));

extern int ncclGroupStart(void) __attribute__((weak));
extern int ncclGroupEnd(void) __attribute__((weak));

struct unique_id {
	char bytes[128];
};

extern int ncclCommInitRank(void **comm, int nranks, struct unique_id id, int rank) __attribute__((weak));

__attribute__((visibility("default"))) int call_init(void);
__attribute__((visibility("default"))) int call_all_reduce(void);
__attribute__((visibility("default"))) int call_bcast(void);
__attribute__((visibility("default"))) int call_group(void);
__attribute__((visibility("default"))) int jump_to_bcast(void);
__attribute__((visibility("default"))) int call_all_to_all(void);

static void *comm;

int call_init(void)
{
	return ncclCommInitRank(&comm, 1, (struct unique_id){ { 0 } }, 0);
}

int call_all_reduce(void)
{
	/* volatile: no tail call where all arguments are in registers */
	volatile int result = ncclAllReduce(NULL, NULL, 1, 0, 0, NULL, NULL);

	return result;
}

int call_bcast(void)
{
	volatile int result = ncclBcast(NULL, 1, 0, 0, NULL, NULL); /* volatile: no tail call */

	return result;
}

int call_group(void)
{
	int start = ncclGroupStart();
	volatile int end = ncclGroupEnd(); /* volatile: no tail call */

	return start == end ? end : -1;
}

int jump_to_bcast(void)
{
	return ncclBcast(NULL, 1, 0, 0, comm, NULL);
}

/* -1: this NCCL has none. */
int call_all_to_all(void)
{
	volatile int result = ncclAlltoAll ? ncclAlltoAll(NULL, NULL, 1, 0, NULL, NULL) : -1;

	return result;
}
