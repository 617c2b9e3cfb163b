/* SPDX-License-Identifier: MIT */
/*
 * Ranks as threads of one process, which a sanitizer can watch: collectives on two streams each, rings of sends, splits
 * and aborts, over and over, with the results checked. (Each rank maps the shared memory at an address of its own, so
 * ThreadSanitizer judges streams, events, groups and communicators, not what the ranks exchange.)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>
#include <nccl.h>

#define RANKS  4
#define ROUNDS 500
#define COUNT  5000

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

struct rank {
	int rank;
	ncclUniqueId id;
	ncclComm_t comm;
	CUstream streams[2];
	float *send, *recv;
};

static float *buffer_new(size_t count)
{
	CUdeviceptr pointer;

	CHECK(cuMemAlloc(&pointer, count * sizeof(float)) == CUDA_SUCCESS);
	return (float *)(uintptr_t)pointer;
}

static void rank_open(struct rank *rank)
{
	CUcontext context;

	CHECK(cuDevicePrimaryCtxRetain(&context, rank->rank) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamCreate(&rank->streams[i], CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	rank->send = buffer_new(COUNT);
	rank->recv = buffer_new(COUNT * RANKS);
	CHECK(ncclCommInitRank(&rank->comm, RANKS, rank->id, rank->rank) == ncclSuccess);
}

static void gather(struct rank *rank, int round)
{
	CUstream stream = rank->streams[round % 2];

	for (size_t i = 0; i < COUNT; i++)
		rank->send[i] = (float)(rank->rank + round);
	CHECK(ncclAllGather(rank->send, rank->recv, COUNT, ncclFloat32, rank->comm, stream) == ncclSuccess);
	CHECK(ncclAllReduce(rank->send, rank->send, COUNT, ncclFloat32, ncclSum, rank->comm, stream) == ncclSuccess);
	CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
	for (int from = 0; from < RANKS; from++)
		CHECK(rank->recv[(size_t)from * COUNT] == (float)(from + round));
	CHECK(rank->send[COUNT - 1] == (float)(RANKS * (RANKS - 1) / 2 + RANKS * round));
}

static void ring(struct rank *rank)
{
	int next = (rank->rank + 1) % RANKS, before = (rank->rank + RANKS - 1) % RANKS;

	rank->send[0] = (float)rank->rank;
	CHECK(ncclGroupStart() == ncclSuccess);
	CHECK(ncclSend(rank->send, COUNT, ncclFloat32, next, rank->comm, rank->streams[0]) == ncclSuccess);
	CHECK(ncclRecv(rank->recv, COUNT, ncclFloat32, before, rank->comm, rank->streams[1]) == ncclSuccess);
	CHECK(ncclGroupEnd() == ncclSuccess);
	CHECK(cuStreamSynchronize(rank->streams[0]) == CUDA_SUCCESS);
	CHECK(rank->recv[0] == (float)before);
}

/* One rank of the child leaves early; the others are waiting for it when they abort. All connect before: who leaves
 * before the first collective keeps the others in their call of it. */
static void split_and_abort(struct rank *rank)
{
	ncclComm_t child;

	CHECK(ncclCommSplit(rank->comm, 0, rank->rank, &child, NULL) == ncclSuccess);
	CHECK(ncclAllReduce(rank->send, rank->recv, COUNT, ncclFloat32, ncclSum, child, rank->streams[0]) == ncclSuccess);
	CHECK(cuStreamSynchronize(rank->streams[0]) == CUDA_SUCCESS);
	if (rank->rank)
		CHECK(ncclAllReduce(rank->send, rank->recv, COUNT, ncclFloat32, ncclSum, child, rank->streams[0]) ==
		      ncclSuccess);
	CHECK(ncclCommAbort(child) == ncclSuccess);
	CHECK(cuStreamSynchronize(rank->streams[0]) == CUDA_SUCCESS);
}

static void *rank_main(void *argument)
{
	struct rank *rank = argument;

	rank_open(rank);
	for (int round = 0; round < ROUNDS; round++) {
		gather(rank, round);
		ring(rank);
		if (round % 10 == 0)
			split_and_abort(rank);
	}
	CHECK(ncclCommDestroy(rank->comm) == ncclSuccess);
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamDestroy(rank->streams[i]) == CUDA_SUCCESS);
	return NULL;
}

int main(void)
{
	struct rank ranks[RANKS];
	pthread_t threads[RANKS];
	ncclUniqueId id;

	setenv("SIM_QUIET", "1", 1);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(ncclGetUniqueId(&id) == ncclSuccess);
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){ .rank = i, .id = id };
		CHECK(pthread_create(&threads[i], NULL, rank_main, &ranks[i]) == 0);
	}
	for (int i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
	printf("%d rounds of %d ranks\n", ROUNDS, RANKS);
	return 0;
}
