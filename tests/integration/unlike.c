/* SPDX-License-Identifier: MIT */
/*
 * unlike RANKS STEPS HANGS: ranks that call AllReduce and, through the copy engine, AllGather; the interposer is at
 * work in the first half of them only. Rank HANGS (-1 none) stands still in the middle. An ordinary NCCL program.
 */
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 3000, COPIES = 3, STEP_US = 25000 };

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

static void join(struct rank *rank, ncclUniqueId id)
{
	size_t bytes = (size_t)rank->ranks * COUNT * sizeof(float);
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclWindow_t window;

	rank->stream = rank_open(rank->number);
	rank->send = rank_buffer(bytes);
	rank->recv = rank_buffer(bytes);
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, bytes / 4, rank->stream);
	config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
	NCCL(ncclCommInitRankConfig, &rank->comm, rank->ranks, id, rank->number, &config);
	NCCL(ncclCommWindowRegister, rank->comm, rank->send, bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
	NCCL(ncclCommWindowRegister, rank->comm, rank->recv, bytes, &window, NCCL_WIN_COLL_SYMMETRIC);
}

static void step(const struct rank *rank, int hangs)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclDouble, ncclSum, rank->comm, rank->stream);
	for (int i = 0; i < COPIES; i++)
		NCCL(ncclAllGather, rank->send, rank->recv, COUNT, ncclFloat, rank->comm, rank->stream);
	while (hangs)
		pause();
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclDouble, ncclMax, rank->comm, rank->stream);
	CU(cuStreamSynchronize, rank->stream);
	usleep(STEP_US);
}

static void be_rank(struct board *board, int number, int ranks, int steps, int hangs)
{
	struct rank rank = { .number = number, .ranks = ranks };

	rank_name(number);
	if (number >= ranks / 2)
		setenv("RANKWATCH_PRELOAD", "0", 1);
	rank_await(&board->have_id);
	join(&rank, board->id);
	for (int i = 0; i < steps; i++)
		step(&rank, number == hangs && i == steps / 2);
	NCCL(ncclCommDestroy, rank.comm);
	exit(0);
}

int main(int argc, char **argv)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ranks = argc == 4 ? atoi(argv[1]) : 0;

	if (board == MAP_FAILED || ranks < 2)
		return 2;
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < ranks; i++)
		if (fork() == 0)
			be_rank(board, i, ranks, atoi(argv[2]), atoi(argv[3]));
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	return ranks_end();
}
