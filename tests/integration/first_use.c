/* SPDX-License-Identifier: MIT */
/*
 * first_use RANKS WHAT RANK SECONDS: ranks whose last one to come, RANK, stays away for so long (0: for ever) before
 * the first use of a connection. WHAT: collective, the first one of all; pair, the first ring of Send and Recv, after
 * 60 AllReduces; order, none of both: RANK makes another communicator of all ranks first than the others do; split,
 * none of these: RANK stays away from a split of the communicator. With "nonblocking" behind it the communicator does
 * not block. An ordinary NCCL program.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 3000, STEPS_BEFORE = 60, STEPS_AFTER = 40, STEP_US = 25000, POLL_US = 1000 };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId id, other_id;
	volatile int have_id;
};

struct plan {
	int ranks, late, seconds;
	bool pair, order, split, nonblocking;
};

struct rank {
	const struct plan *plan;
	int number;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comm;
};

/* The calls of a communicator that does not block go on. */
static void need_or_wait(int result, const char *what)
{
	if (result != ncclInProgress)
		need(result, what);
}

#undef NCCL
#define NCCL(call, ...) need_or_wait(call(__VA_ARGS__), #call)

/* As programs do with communicators that do not block, behind every call. */
static void settle(const struct rank *rank)
{
	ncclResult_t state = ncclInProgress;

	for (;;) {
		NCCL(ncclCommGetAsyncError, rank->comm, &state);
		if (state != ncclInProgress)
			break;
		usleep(POLL_US);
	}
	need(state, "state");
}

static void join(struct rank *rank, ncclUniqueId id)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	rank->stream = rank_open(rank->number);
	rank->send = rank_buffer(COUNT * sizeof(float));
	rank->recv = rank_buffer(COUNT * sizeof(float));
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, COUNT, rank->stream);
	config.blocking = !rank->plan->nonblocking;
	NCCL(ncclCommInitRankConfig, &rank->comm, rank->plan->ranks, id, rank->number, &config);
	settle(rank);
}

static void finish_step(const struct rank *rank)
{
	settle(rank);
	CU(cuStreamSynchronize, rank->stream);
	usleep(STEP_US);
}

/* Gradients of some layers and their norm, so that it is seen to be a step. */
static void reduce(const struct rank *rank)
{
	static const size_t counts[] = { COUNT, COUNT / 2, COUNT / 3, 1 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		NCCL(ncclAllReduce, rank->send, rank->recv, counts[i], ncclFloat, ncclSum, rank->comm, rank->stream);
		settle(rank);
	}
	finish_step(rank);
}

static void pass_on(const struct rank *rank)
{
	int ranks = rank->plan->ranks;

	NCCL(ncclGroupStart, );
	NCCL(ncclSend, rank->send, COUNT, ncclFloat, (rank->number + 1) % ranks, rank->comm, rank->stream);
	NCCL(ncclRecv, rank->recv, COUNT, ncclFloat, (rank->number + ranks - 1) % ranks, rank->comm, rank->stream);
	NCCL(ncclGroupEnd, );
	finish_step(rank);
}

static void stay_away(const struct rank *rank)
{
	if (rank->number != rank->plan->late)
		return;
	fprintf(stderr, "first_use: rank %d stays away\n", rank->number);
	if (rank->plan->seconds)
		sleep((unsigned int)rank->plan->seconds);
	else
		for (;;)
			pause();
}

/* Into even and odd ranks. */
static void split(const struct rank *rank)
{
	ncclComm_t half;

	NCCL(ncclCommSplit, rank->comm, rank->number % 2, rank->number, &half, NULL);
	settle(rank);
}

static void be_rank(const struct board *board, const struct plan *plan, int number)
{
	struct rank rank = { .plan = plan, .number = number };
	void (*step)(const struct rank *rank) = plan->pair ? pass_on : reduce;

	rank_await(&board->have_id);
	join(&rank, plan->order && number == plan->late ? board->other_id : board->id);
	for (int i = 0; plan->pair && i < STEPS_BEFORE; i++)
		reduce(&rank);
	stay_away(&rank);
	if (plan->split)
		split(&rank);
	for (int i = 0; i < STEPS_AFTER; i++)
		step(&rank);
	NCCL(ncclCommDestroy, rank.comm);
	exit(0);
}

/* As a launcher's: a program of its own, whose environment says which rank it is. */
static void launch(int number, int board, char **argv)
{
	char text[16];

	rank_name(number);
	snprintf(text, sizeof(text), "%d", board);
	setenv("FIRST_USE_BOARD", text, 1);
	execv(argv[0], argv);
	perror("first_use: exec");
	exit(1);
}

int main(int argc, char **argv)
{
	const char *inherited = getenv("FIRST_USE_BOARD");
	int fd = inherited ? atoi(inherited) : memfd_create("board", 0);

	if (argc < 5 || fd < 0 || ftruncate(fd, sizeof(struct board)))
		return 2;
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		return 2;
	const struct plan plan = {
		.ranks = atoi(argv[1]),
		.pair = strcmp(argv[2], "pair") == 0,
		.order = strcmp(argv[2], "order") == 0,
		.split = strcmp(argv[2], "split") == 0,
		.late = atoi(argv[3]),
		.seconds = atoi(argv[4]),
		.nonblocking = argc > 5 && strcmp(argv[5], "nonblocking") == 0,
	};
	if (inherited)
		be_rank(board, &plan, atoi(getenv("RANK")));
	setenv("WORLD_SIZE", argv[1], 1);
	for (int i = 0; i < plan.ranks; i++)
		if (fork() == 0)
			launch(i, fd, argv);
	NCCL(ncclGetUniqueId, &board->id);
	NCCL(ncclGetUniqueId, &board->other_id);
	board->have_id = 1;
	return ranks_end();
}
