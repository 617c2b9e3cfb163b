/* SPDX-License-Identifier: MIT */
/*
 * graph_late RANKS RANK MS STEPS [mixed]: ranks that replay a CUDA graph of three AllReduces in each step, as a server
 * of a language model does. RANK comes MS ms later to each of them. mixed: and calls an AllReduce outside of the graph.
 * An ordinary NCCL program.
 */
#include <stdbool.h>
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 3000, CALLS = 3, STEP_US = 20000 };

struct board {
	ncclUniqueId id;
	volatile int have_id;
};

struct rank {
	int ranks, number;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
	CUgraphExec exec;
};

static void reduce(const struct rank *rank)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclFloat, ncclSum, rank->comm, rank->stream);
}

/* Warm up, then capture. */
static void join(struct rank *rank, ncclUniqueId id)
{
	CUgraph graph;

	rank->stream = rank_open(rank->number);
	rank->send = rank_buffer(COUNT * sizeof(float));
	rank->recv = rank_buffer(COUNT * sizeof(float));
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, COUNT, rank->stream);
	NCCL(ncclCommInitRank, &rank->comm, rank->ranks, id, rank->number);
	reduce(rank);
	CU(cuStreamSynchronize, rank->stream);
	CU(cuStreamBeginCapture, rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	for (int i = 0; i < CALLS; i++)
		reduce(rank);
	CU(cuStreamEndCapture, rank->stream, &graph);
	CU(cuGraphInstantiate, &rank->exec, graph, 0);
	CU(cuGraphDestroy, graph);
}

static void leave(struct rank *rank)
{
	CU(cuStreamSynchronize, rank->stream);
	CU(cuGraphExecDestroy, rank->exec);
	NCCL(ncclCommDestroy, rank->comm);
}

static void be_rank(const struct board *board, int ranks, int number, int late_us, int steps, bool mixed)
{
	struct rank rank = { .ranks = ranks, .number = number };

	rank_name(number);
	rank_await(&board->have_id);
	join(&rank, board->id);
	for (int step = 0; step < steps; step++) {
		usleep((useconds_t)(STEP_US + late_us));
		CU(cuGraphLaunch, rank.exec, rank.stream);
		if (mixed)
			reduce(&rank);
		CU(cuStreamSynchronize, rank.stream);
	}
	leave(&rank);
	exit(0);
}

int main(int argc, char **argv)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (board == MAP_FAILED || argc < 5)
		return 2;
	int ranks = atoi(argv[1]), late = atoi(argv[2]), late_us = atoi(argv[3]) * 1000, steps = atoi(argv[4]);
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < ranks; i++)
		if (fork() == 0)
			be_rank(board, ranks, i, i == late ? late_us : 0, steps, argc > 5);
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	return ranks_end();
}
