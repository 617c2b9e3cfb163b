/* SPDX-License-Identifier: MIT */
/*
 * A library that looks like NCCL and says which one it is: every call returns NUMBER (no error that NCCL knows), and
 * communicators are made of nothing. WITHOUT_STRONG: has no pncclX names. Symbols as in NCCL: weak ncclX, strong
 * pncclX.
 */
#include <stddef.h>

#ifdef WITHOUT_STRONG
#define FUNCTION(name, ...)                                                                                            \
	__attribute__((visibility("default"))) int nccl##name(__VA_ARGS__);                                            \
	int nccl##name(__VA_ARGS__)
#else
#define FUNCTION(name, ...)                                                                                            \
	__attribute__((visibility("default"))) int pnccl##name(__VA_ARGS__);                                           \
	__attribute__((visibility("default"), weak, alias("pnccl" #name))) int nccl##name(__VA_ARGS__);                \
	int pnccl##name(__VA_ARGS__)
#endif

FUNCTION(AllReduce, const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream)
{
	(void)send, (void)recv, (void)count, (void)type, (void)op, (void)comm, (void)stream;
	return NUMBER;
}

struct unique_id {
	char bytes[128];
};

FUNCTION(CommInitRank, void **comm, int nranks, struct unique_id id, int rank)
{
	static char made;

	(void)nranks, (void)id, (void)rank;
	*comm = &made;
	return 0;
}

FUNCTION(GroupStart, void)
{
	return NUMBER;
}

FUNCTION(GroupEnd, void)
{
	return NUMBER;
}

/* What NCCL's own calls do, too: through the name that can be replaced. */
FUNCTION(Broadcast, const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream)
{
	(void)send, (void)recv, (void)count, (void)type, (void)root, (void)comm, (void)stream;
	return NUMBER;
}

FUNCTION(Bcast, void *buffer, size_t count, int type, int root, void *comm, void *stream)
{
	/* volatile: no tail call where all arguments are in registers, which would leave our wrapper as the caller of a
	 * communicator that it does not know. */
	volatile int result = ncclBroadcast(buffer, buffer, count, type, root, comm, stream);

	return result;
}
