/* SPDX-License-Identifier: MIT */
/*
 * graph_late RANKS RANK MS STEPS [mixed]: ranks that replay a CUDA graph of three AllReduces in each step, as a server of a language
 * model does. RANK comes MS ms later to each of them. mixed: and calls an AllReduce outside of the graph. An ordinary NCCL
 * program.
 */
#include <cuda.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3000, CALLS = 3, STEP_US = 20000 };

struct board {
	ncclUniqueId id;
	volatile int have_id;
};

struct rank {
	int ranks, number;
	CUcontext context;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
	CUgraphExec exec;
};

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "graph_late: %s: %d\n", what, result);
	exit(1);
}

#define CU(call, ...)	need(call(__VA_ARGS__), #call)
#define NCCL(call, ...) need(call(__VA_ARGS__), #call)

static void reduce(const struct rank *rank)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclFloat, ncclSum, rank->comm, rank->stream);
}

/* Warm up, then capture. */
static void join(struct rank *rank, ncclUniqueId id)
{
	CUdevice device;
	CUgraph graph;

	CU(cuInit, 0);
	CU(cuDeviceGet, &device, rank->number);
	CU(cuDevicePrimaryCtxRetain, &rank->context, device);
	CU(cuCtxSetCurrent, rank->context);
	CU(cuStreamCreate, &rank->stream, CU_STREAM_NON_BLOCKING);
	CU(cuMemAlloc, (CUdeviceptr *)&rank->send, COUNT * sizeof(float));
	CU(cuMemAlloc, (CUdeviceptr *)&rank->recv, COUNT * sizeof(float));
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
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	while (!board->have_id)
		usleep(1000);
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
	int status, worst = 0;

	if (board == MAP_FAILED || argc < 5)
		return 2;
	int ranks = atoi(argv[1]), late = atoi(argv[2]), late_us = atoi(argv[3]) * 1000, steps = atoi(argv[4]);
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < ranks; i++)
		if (fork() == 0)
			be_rank(board, ranks, i, i == late ? late_us : 0, steps, argc > 5);
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	while (wait(&status) > 0)
		worst |= status;
	return worst ? 1 : 0;
}
