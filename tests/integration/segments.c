/* SPDX-License-Identifier: MIT */
/*
 * segments RANKS CALL: ranks that call AlltoAll, Gather or Scatter (root 1) ten times, each time with other bytes. An
 * ordinary NCCL program.
 */
#include <string.h>
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 3000, CALLS = 10, ROOT = 1 };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId id;
	volatile int have_id;
};

struct rank {
	int number, ranks;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
};

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

	rank_name(number);
	rank.stream = rank_open(number);
	rank.send = rank_buffer(bytes);
	rank.recv = rank_buffer(bytes);
	rank_await(&board->have_id);
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
	int ranks = argc == 3 ? atoi(argv[1]) : 0;

	if (board == MAP_FAILED || ranks < 2)
		return 2;
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < ranks; i++)
		if (fork() == 0)
			be_rank(board, i, ranks, argv[2]);
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	return ranks_end();
}
