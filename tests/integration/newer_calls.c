/* SPDX-License-Identifier: MIT */
/*
 * newer_calls RANKS WHAT: what programs do with newer releases of NCCL. WHAT: uneven, gathers parts of unequal size as
 * PyTorch does, one Broadcast for each rank in one group, a few AllReduces, and the end; broadcasts, each followed by
 * an AllReduce; grow, a communicator of all but the last rank, which joins it; grow-alone, where that rank stays away.
 * destroy, while the GPU still works on something else, for ever; signals, sent round a ring in each step, in which the
 * last rank is late; signals-alone, in which it stays away. An ordinary NCCL program.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 3000, BROADCASTS = 150, STEPS = 40, STEP_US = 20000, LATE_US = 60000 };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId id, growth_id;
	volatile int have_id, have_growth_id;
};

struct rank {
	int number, ranks;
	bool starts_alone; /* the last one is no member at first */
	struct board *board;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
};

static void join(struct rank *rank, ncclUniqueId id)
{

	rank->stream = rank_open(rank->number);
	rank->send = rank_buffer(COUNT * sizeof(float));
	rank->recv = rank_buffer(COUNT * sizeof(float));
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, COUNT, rank->stream);
	if (!rank->starts_alone)
		NCCL(ncclCommInitRank, &rank->comm, rank->ranks, id, rank->number);
	else if (rank->number < rank->ranks - 1)
		NCCL(ncclCommInitRank, &rank->comm, rank->ranks - 1, id, rank->number);
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

static void stay_away(const struct rank *rank)
{
	fprintf(stderr, "newer_calls: rank %d stays away\n", rank->number);
	for (;;)
		pause();
}

/* The first rank has the id, and tells the one that joins. */
static void grow(struct rank *rank)
{
	struct board *board = rank->board;
	ncclComm_t grown;
	bool first = rank->number == 0, joins = rank->number == rank->ranks - 1;

	if (first) {
		NCCL(ncclCommGetUniqueId, rank->comm, &board->growth_id);
		board->have_growth_id = 1;
	}
	while (joins && !board->have_growth_id)
		usleep(1000);
	NCCL(ncclCommGrow, joins ? NULL : rank->comm, rank->ranks, first || joins ? &board->growth_id : NULL,
	     joins ? rank->number : -1, &grown, NULL);
	if (!joins)
		NCCL(ncclCommDestroy, rank->comm);
	rank->comm = grown;
	for (int i = 0; i < 10; i++)
		reduce(rank);
}

static void grow_alone(struct rank *rank)
{
	if (rank->number == rank->ranks - 1)
		stay_away(rank);
	grow(rank);
}

static void suspend(struct rank *rank)
{
	for (int i = 0; i < 3; i++) {
		reduce(rank);
		NCCL(ncclCommSuspend, rank->comm, NCCL_SUSPEND_MEM);
		NCCL(ncclCommResume, rank->comm);
	}
	reduce(rank);
}

static void resume_alone(struct rank *rank)
{
	suspend(rank);
	NCCL(ncclCommSuspend, rank->comm, NCCL_SUSPEND_MEM);
	if (rank->number == rank->ranks - 1)
		stay_away(rank);
	NCCL(ncclCommResume, rank->comm);
}

/* Sends to the next rank and waits for the one before. */
static void pass_signal(const struct rank *rank, bool in_group)
{
	ncclWaitSignalDesc_t awaited = { .opCnt = 1, .peer = (rank->number + rank->ranks - 1) % rank->ranks };

	if (in_group)
		NCCL(ncclGroupStart, );
	NCCL(ncclSignal, (rank->number + 1) % rank->ranks, 0, 0, 0, rank->comm, rank->stream);
	NCCL(ncclWaitSignal, 1, &awaited, rank->comm, rank->stream);
	if (in_group)
		NCCL(ncclGroupEnd, );
	CU(cuStreamSynchronize, rank->stream);
}

static void signals(struct rank *rank)
{
	for (int i = 0; i < STEPS; i++) {
		usleep(STEP_US);
		if (rank->number == rank->ranks - 1)
			usleep(LATE_US);
		pass_signal(rank, i % 2);
		for (int k = 0; k < 4; k++)
			reduce(rank);
	}
}

static void signals_alone(struct rank *rank)
{
	for (int i = 0; i < 3; i++)
		pass_signal(rank, i % 2);
	if (rank->number == rank->ranks - 1)
		stay_away(rank);
	pass_signal(rank, rank->number % 2);
}

static void work_for_ever(void *argument)
{
	(void)argument;
	for (;;)
		pause();
}

static void destroy(struct rank *rank)
{
	reduce(rank);
	CU(cuLaunchHostFunc, rank->stream, work_for_ever, NULL);
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclFloat, ncclSum, rank->comm, rank->stream);
	fprintf(stderr, "newer_calls: rank %d destroys\n", rank->number);
}

static const struct {
	const char *name;
	void (*play)(struct rank *rank);
	bool starts_alone;
} plays[] = {
	{ "signals", signals, false },
	{ "signals-alone", signals_alone, false },
	{ "destroy", destroy, false },
	{ "suspend", suspend, false },
	{ "resume-alone", resume_alone, false },
	{ "grow", grow, true },
	{ "grow-alone", grow_alone, true },
	{ "uneven", uneven, false },
	{ "broadcasts", broadcasts, false },
};

static void be_rank(struct board *board, const char *what, struct rank rank)
{
	size_t play = 0;

	while (strcmp(plays[play].name, what) != 0)
		if (++play == sizeof(plays) / sizeof(*plays))
			exit(2);
	rank_await(&board->have_id);
	rank.board = board;
	rank.starts_alone = plays[play].starts_alone;
	join(&rank, board->id);
	plays[play].play(&rank);
	NCCL(ncclCommDestroy, rank.comm);
	exit(0);
}

/* As a launcher's: a program of its own, whose environment says which rank it is. */
static void launch(int number, int board, char **argv)
{
	char text[16];

	rank_name(number);
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
	return ranks_end();
}
