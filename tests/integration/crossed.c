/* SPDX-License-Identifier: MIT */
/*
 * crossed RANKS WHAT DIRECTORY: ranks that after some steps wait for each other in a circle, for ever. Each claims a
 * host of its own, host-0, host-1 …, and its black box lies in DIRECTORY/host-0 … WHAT: "opposite", rank 0 uses two
 * communicators in one order, all others in the other one; "sends", each rank sends to the next one, and receives only
 * behind that; "without", rank 1 is another program, which does not come to the first communicator. An ordinary NCCL
 * program.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "ranks.h"

enum { COUNT = 1 << 20, COMMS = 2, STEPS_BEFORE = 40, STEP_US = 50000 };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId ids[COMMS];
	volatile int have_ids;
};

struct rank {
	int number, ranks;
	CUstream stream;
	float *send, *recv;
	ncclComm_t comms[COMMS];
};

static void claim_host(int number, const char *directory)
{
	char text[16], path[4096];

	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", "0", 1);
	snprintf(text, sizeof(text), "host-%d", number);
	setenv("NCCL_HOSTID", text, 1);
	setenv("SLURMD_NODENAME", text, 1);
	snprintf(path, sizeof(path), "%s/%s", directory, text);
	setenv("RANKWATCH_DIR", path, 1);
}

static void join(struct rank *rank, const struct board *board)
{

	rank->stream = rank_open(0);
	rank->send = rank_buffer(COUNT * sizeof(float));
	rank->recv = rank_buffer(COUNT * sizeof(float));
	CU(cuMemsetD32Async, (CUdeviceptr)rank->send, 0, COUNT, rank->stream);
	for (int i = 0; i < COMMS; i++)
		NCCL(ncclCommInitRank, &rank->comms[i], rank->ranks, board->ids[i], rank->number);
}

static void reduce(const struct rank *rank, int comm)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, COUNT, ncclFloat, ncclSum, rank->comms[comm], rank->stream);
}

static void send_on(const struct rank *rank)
{
	NCCL(ncclSend, rank->send, COUNT, ncclFloat, (rank->number + 1) % rank->ranks, rank->comms[1], rank->stream);
}

static void receive(const struct rank *rank)
{
	NCCL(ncclRecv, rank->recv, COUNT, ncclFloat, (rank->number + rank->ranks - 1) % rank->ranks, rank->comms[1],
	     rank->stream);
}

/* Both are enqueued before the host waits for either, as PyTorch does. */
static void use_both(const struct rank *rank, bool crossed)
{
	int first = crossed && rank->number ? 1 : 0;

	reduce(rank, first);
	reduce(rank, 1 - first);
}

static void pass_on(const struct rank *rank, bool crossed)
{
	reduce(rank, 0);
	if (!crossed && rank->number == 0)
		receive(rank);
	send_on(rank);
	if (crossed || rank->number != 0)
		receive(rank);
}

static void be_rank(const struct board *board, struct rank rank, bool sends)
{
	void (*step)(const struct rank *rank, bool crossed) = sends ? pass_on : use_both;

	rank_await(&board->have_ids);
	join(&rank, board);
	for (int i = 0; i <= STEPS_BEFORE; i++) {
		if (i == STEPS_BEFORE)
			fprintf(stderr, "crossed: rank %d waits from now on\n", rank.number);
		step(&rank, i == STEPS_BEFORE);
		CU(cuStreamSynchronize, rank.stream);
		usleep(STEP_US);
	}
	fprintf(stderr, "crossed: rank %d did not wait\n", rank.number);
	exit(1);
}

int main(int argc, char **argv)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (board == MAP_FAILED || argc != 4)
		return 2;
	int ranks = atoi(argv[1]);
	setenv("WORLD_SIZE", argv[1], 1);
	bool without = strcmp(argv[2], "without") == 0;
	for (int i = 0; i < ranks; i++)
		if (!(without && i == 1) && fork() == 0) {
			claim_host(i, argv[3]);
			be_rank(board, (struct rank){ .number = i, .ranks = ranks }, strcmp(argv[2], "sends") == 0);
		}
	for (int i = 0; i < COMMS; i++)
		NCCL(ncclGetUniqueId, &board->ids[i]);
	board->have_ids = 1;
	return ranks_end();
}
