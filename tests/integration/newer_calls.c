/* SPDX-License-Identifier: MIT */
/*
 * newer_calls RANKS WHAT: what programs do with newer releases of NCCL. WHAT: uneven, gathers parts of unequal size as PyTorch does, one
 * Broadcast for each rank in one group, a few AllReduces, and the end; broadcasts, each followed by an AllReduce. An ordinary NCCL program.
 */
#include <cuda.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 3000, BROADCASTS = 150 };

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
	fprintf(stderr, "newer_calls: %s: %d\n", what, result);
	exit(1);
}

#define CU(call, ...)	need(call(__VA_ARGS__), #call)
#define NCCL(call, ...) need(call(__VA_ARGS__), #call)

static void join(struct rank *rank, ncclUniqueId id)
{
	CUdevice device;

	CU(cuInit, 0);
	CU(cuDeviceGet, &device, rank->number);
	CU(cuDevicePrimaryCtxRetain, &rank->context, device);
	CU(cuCtxSetCurrent, rank->context);
	CU(cuStreamCreate, &rank->stream, CU_STREAM_NON_BLOCKING);
	CU(cuMemAlloc, (CUdeviceptr *)&rank->send, COUNT * sizeof(float));
	CU(cuMemAlloc, (CUdeviceptr *)&rank->recv, COUNT * sizeof(float));
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, COUNT, rank->stream);
	NCCL(ncclCommInitRank, &rank->comm, rank->ranks, id, rank->number);
}

static void reduce(const struct rank *rank)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclFloat, ncclSum, rank->comm, rank->stream);
	CU(cuStreamSynchronize, rank->stream);
}

static void uneven(struct rank *rank)
{
	size_t part = COUNT / (size_t)rank->ranks;

	NCCL(ncclGroupStart, );
	for (int root = 0; root < rank->ranks; root++) {
		float *at = rank->recv + (size_t)root * part;
		NCCL(ncclBroadcast, at, at, part - (size_t)root, ncclFloat, root, rank->comm, rank->stream);
	}
	NCCL(ncclGroupEnd, );
	for (int i = 0; i < 10; i++)
		reduce(rank);
}

static void broadcasts(struct rank *rank)
{
	for (int i = 0; i < BROADCASTS; i++) {
		NCCL(ncclBroadcast, rank->send, rank->recv, COUNT, ncclFloat, i % rank->ranks, rank->comm, rank->stream);
		reduce(rank);
	}
}

static const struct {
	const char *name;
	void (*play)(struct rank *rank);
} plays[] = {
	{ "uneven", uneven },
	{ "broadcasts", broadcasts },
};

static void be_rank(const struct board *board, const char *what, struct rank rank)
{
	while (!board->have_id)
		usleep(1000);
	join(&rank, board->id);
	for (size_t i = 0; i < sizeof(plays) / sizeof(*plays); i++)
		if (strcmp(plays[i].name, what) == 0)
			plays[i].play(&rank);
	NCCL(ncclCommDestroy, rank.comm);
	exit(0);
}

/* As a launcher's: a program of its own, whose environment says which rank it is. */
static void launch(int number, int board, char **argv)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", board);
	setenv("NEWER_CALLS_BOARD", text, 1);
	execv(argv[0], argv);
	perror("newer_calls: exec");
	exit(1);
}

int main(int argc, char **argv)
{
	const char *inherited = getenv("NEWER_CALLS_BOARD");
	int fd = inherited ? atoi(inherited) : memfd_create("board", 0);
	int status, worst = 0;

	if (argc < 3 || fd < 0 || ftruncate(fd, sizeof(struct board)))
		return 2;
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		return 2;
	if (inherited)
		be_rank(board, argv[2], (struct rank){ .number = atoi(getenv("RANK")), .ranks = atoi(argv[1]) });
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < atoi(argv[1]); i++)
		if (fork() == 0)
			launch(i, fd, argv);
	NCCL(ncclGetUniqueId, &board->id);
	board->have_id = 1;
	while (wait(&status) > 0)
		worst |= status;
	return worst ? 1 : 0;
}
