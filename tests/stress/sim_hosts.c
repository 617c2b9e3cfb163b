/* SPDX-License-Identifier: MIT */
/*
 * Ranks as processes that claim different hosts, each of which a sanitizer can watch: collectives of many sizes, rings
 * of sends that are larger than the buffers, splits across hosts, with the results checked; at last one rank is killed
 * in the middle of them, and the others must notice, abort and end.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <nccl.h>

#define RANKS  4
#ifdef __SANITIZE_THREAD__ /* ten times slower */
#define ROUNDS 12
#else
#define ROUNDS 60
#endif
#define COUNT  300000

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

struct meeting {
	_Atomic int ready, worked;
	ncclUniqueId id;
};

struct rank {
	int rank;
	ncclComm_t comm;
	CUstream stream;
	float *send, *recv;
};

static float *buffer_new(size_t count)
{
	CUdeviceptr pointer;

	CHECK(cuMemAlloc(&pointer, count * sizeof(float)) == CUDA_SUCCESS);
	return (float *)(uintptr_t)pointer;
}

static void rank_open(struct rank *rank, struct meeting *meeting, int hosts)
{
	CUcontext context;
	char name[16];

	snprintf(name, sizeof(name), "host-%d", rank->rank * hosts / RANKS);
	setenv("NCCL_HOSTID", name, 1);
	CHECK(cuInit(0) == CUDA_SUCCESS);
	CHECK(cuDevicePrimaryCtxRetain(&context, rank->rank) == CUDA_SUCCESS);
	CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
	CHECK(cuStreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	rank->send = buffer_new(COUNT);
	rank->recv = buffer_new(COUNT);
	if (rank->rank == 0) {
		CHECK(ncclGetUniqueId(&meeting->id) == ncclSuccess);
		meeting->ready = 1;
	}
	while (!meeting->ready)
		usleep(1000);
	CHECK(ncclCommInitRank(&rank->comm, RANKS, meeting->id, rank->rank) == ncclSuccess);
}

static void reduce(struct rank *rank, ncclComm_t comm, size_t count, int nranks)
{
	for (size_t i = 0; i < count; i++)
		rank->send[i] = (float)(i % 7);
	CHECK(ncclAllReduce(rank->send, rank->recv, count, ncclFloat32, ncclSum, comm, rank->stream) == ncclSuccess);
	CHECK(cuStreamSynchronize(rank->stream) == CUDA_SUCCESS);
	for (size_t i = 0; i < count; i++)
		CHECK(rank->recv[i] == (float)(nranks * (int)(i % 7)));
}

static void ring(struct rank *rank, size_t count)
{
	int next = (rank->rank + 1) % RANKS, before = (rank->rank + RANKS - 1) % RANKS;

	for (size_t i = 0; i < count; i++)
		rank->send[i] = (float)rank->rank;
	CHECK(ncclGroupStart() == ncclSuccess);
	CHECK(ncclSend(rank->send, count, ncclFloat32, next, rank->comm, rank->stream) == ncclSuccess);
	CHECK(ncclRecv(rank->recv, count, ncclFloat32, before, rank->comm, rank->stream) == ncclSuccess);
	CHECK(ncclGroupEnd() == ncclSuccess);
	CHECK(cuStreamSynchronize(rank->stream) == CUDA_SUCCESS);
	for (size_t i = 0; i < count; i++)
		CHECK(rank->recv[i] == (float)before);
}

static void work(struct rank *rank)
{
	for (int round = 0; round < ROUNDS; round++) {
		size_t count = (size_t)(round * 7919) % COUNT + 1;
		reduce(rank, rank->comm, count, RANKS);
		ring(rank, count);
		if (round % 20)
			continue;
		ncclComm_t child;
		CHECK(ncclCommSplit(rank->comm, rank->rank % 2, 0, &child, NULL) == ncclSuccess);
		reduce(rank, child, count, RANKS / 2);
		CHECK(ncclCommDestroy(child) == ncclSuccess);
	}
}

/* A collective that cannot end: the last rank dies instead of taking part. Not before all have done their work: whoever
 * still needs an answer of another rank does not get it once the network has failed. */
static void survive(struct rank *rank, struct meeting *meeting)
{
	ncclResult_t error = ncclSuccess;

	meeting->worked++;
	while (meeting->worked < RANKS)
		usleep(1000);
	if (rank->rank == RANKS - 1)
		kill(getpid(), SIGKILL);
	CHECK(ncclAllReduce(rank->send, rank->recv, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream) ==
	      ncclSuccess);
	while (error == ncclSuccess) {
		CHECK(ncclCommGetAsyncError(rank->comm, &error) == ncclSuccess);
		usleep(1000);
	}
	CHECK(error == ncclRemoteError);
	CHECK(ncclCommAbort(rank->comm) == ncclSuccess);
}

static int rank_main(int number, struct meeting *meeting, int hosts)
{
	struct rank rank = { .rank = number };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rank_open(&rank, meeting, hosts);
	work(&rank);
	/* Whoever shares a host with the dead rank is told nothing: all are alone on theirs. */
	if (hosts == RANKS)
		survive(&rank, meeting);
	else
		CHECK(ncclCommDestroy(rank.comm) == ncclSuccess);
	return 0;
}

static bool ended_well(int rank, int status, int hosts)
{
	if (hosts == RANKS && rank == RANKS - 1)
		return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run(int hosts)
{
	struct meeting *meeting =
	    mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[RANKS];
	bool good = true;

	CHECK(meeting != MAP_FAILED);
	for (int rank = 0; rank < RANKS; rank++) {
		pids[rank] = fork();
		CHECK(pids[rank] >= 0);
		if (pids[rank] == 0)
			exit(rank_main(rank, meeting, hosts));
	}
	for (int rank = 0; rank < RANKS; rank++) {
		int status = 0;
		waitpid(pids[rank], &status, 0);
		if (ended_well(rank, status, hosts))
			continue;
		fprintf(stderr, "rank %d of %d hosts ended with status 0x%x\n", rank, hosts, (unsigned int)status);
		good = false;
	}
	munmap(meeting, sizeof(*meeting));
	return good;
}

int main(void)
{
	setenv("SIM_QUIET", "1", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return run(2) && run(3) && run(4) ? 0 : 1;
}
