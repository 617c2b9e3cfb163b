/* SPDX-License-Identifier: MIT */
/*
 * segments RANKS CALL: ranks that call AlltoAll, Gather or Scatter (root 1) ten times, each time with other bytes. An ordinary
 * NCCL program.
 */
#include <cuda.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3000, CALLS = 10, ROOT = 1 };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId id;
	volatile int have_id;
};

struct rank {
	int number, ranks;
	CUcontext context;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
};

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "segments: %s: %d\n", what, result);
	exit(1);
}

#define CU(call, ...)	need(call(__VA_ARGS__), #call)
#define NCCL(call, ...) need(call(__VA_ARGS__), #call)

static void call(const struct rank *rank, const char *name)
{
	if (!strcmp(name, "AlltoAll"))
		NCCL(ncclAlltoAll, rank->send, rank->recv, COUNT, ncclFloat, rank->comm, rank->stream);
	else if (!strcmp(name, "Gather"))
		NCCL(ncclGather, rank->send, rank->recv, COUNT, ncclFloat, ROOT, rank->comm, rank->stream);
	else
		NCCL(ncclScatter, rank->send, rank->recv, COUNT, ncclFloat, ROOT, rank->comm, rank->stream);
}

static void be_rank(struct board *board, int number, int ranks, const char *name)
{
	struct rank rank = { .number = number, .ranks = ranks };
	size_t bytes = (size_t)ranks * COUNT * sizeof(float);
	char text[16];
	CUdevice device;

	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	CU(cuInit, 0);
	CU(cuDeviceGet, &device, number);
	CU(cuDevicePrimaryCtxRetain, &rank.context, device);
	CU(cuCtxSetCurrent, rank.context);
	CU(cuStreamCreate, &rank.stream, CU_STREAM_NON_BLOCKING);
	CU(cuMemAlloc, (CUdeviceptr *)&rank.send, bytes);
	CU(cuMemAlloc, (CUdeviceptr *)&rank.recv, bytes);
	while (!board->have_id)
		usleep(1000);
	NCCL(ncclCommInitRank, &rank.comm, ranks, board->id, number);
	for (int i = 0; i < CALLS; i++) {
		CU(cuMemsetD32Async, (CUdeviceptr)rank.send, 0x3f800000u + (unsigned)(number * CALLS + i), bytes / 4, rank.stream);
		call(&rank, name);
		CU(cuStreamSynchronize, rank.stream);
	}
	NCCL(ncclCommDestroy, rank.comm);
	exit(0);
}

int main(int argc, char **argv)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ranks = argc == 3 ? atoi(argv[1]) : 0, status, worst = 0;

	if (board == MAP_FAILED || ranks < 2)
		return 2;
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < ranks; i++)
		if (fork() == 0)
			be_rank(board, i, ranks, argv[2]);
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	while (wait(&status) > 0)
		worst |= status;
	return worst ? 1 : 0;
}
