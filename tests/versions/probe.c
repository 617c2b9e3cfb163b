/* SPDX-License-Identifier: MIT */
/*
 * Two ranks that make one call of each kind that NCCL treats differently, each with an element count of its own, so
 * that it can be found in a black box: what is there of it is what rankwatch sees of that NCCL. Prints one JSON line
 * when all calls have ended: which kinds this NCCL offers. Leaves when its standard input ends. An ordinary NCCL
 * program.
 */
#include <cuda.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, BYTES = 1 << 16 };

/* Element counts, by kind; versions.py has the same. */
enum { ALL_REDUCE = 1000, ALL_GATHER, BROADCAST, SEND_RECV, ALL_TO_ALL, CAPTURED, SYMMETRIC, COPY_ENGINE };

/* What the parent and the ranks share. */
struct board {
	ncclUniqueId id;
	volatile int have_id;
	volatile int ready; /* ranks that have made all their calls */
};

struct rank {
	int number;
	CUcontext context;
	CUstream stream;
	void *send, *recv; /* from ncclMemAlloc where there is such a call */
	ncclComm_t comm;
};

static void need(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "probe: %s: %d\n", what, result);
	exit(1);
}

#define CU(call, ...)	need(call(__VA_ARGS__), #call)
#define NCCL(call, ...) need(call(__VA_ARGS__), #call)

static void settle(const struct rank *rank)
{
	CU(cuStreamSynchronize, rank->stream);
}

static ncclComm_t split(const struct rank *rank, int copy_engine)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t made = NULL;

	config.CTAPolicy = copy_engine ? 2 : NCCL_CONFIG_UNDEF_INT; /* NCCL_CTA_POLICY_ZERO */
	return ncclCommSplit(rank->comm, 0, rank->number, &made, &config) == ncclSuccess ? made : NULL;
}

static void do_collectives(const struct rank *rank)
{
	NCCL(ncclAllReduce, rank->send, rank->recv, ALL_REDUCE, ncclFloat, ncclSum, rank->comm, rank->stream);
	NCCL(ncclAllGather, rank->send, rank->recv, ALL_GATHER, ncclFloat, rank->comm, rank->stream);
	NCCL(ncclBroadcast, rank->send, rank->recv, BROADCAST, ncclFloat, 0, rank->comm, rank->stream);
	settle(rank);
}

static void do_transfer(const struct rank *rank)
{
	if (rank->number == 0)
		NCCL(ncclSend, rank->send, SEND_RECV, ncclFloat, 1, rank->comm, rank->stream);
	else
		NCCL(ncclRecv, rank->recv, SEND_RECV, ncclFloat, 0, rank->comm, rank->stream);
	settle(rank);
}

static bool do_all_to_all(const struct rank *rank)
{
	bool offered = ncclAlltoAll(rank->send, rank->recv, ALL_TO_ALL, ncclFloat, rank->comm, rank->stream) == ncclSuccess;

	settle(rank);
	return offered;
}

static void do_captured(const struct rank *rank)
{
	CUgraph graph;
	CUgraphExec executable;

	CU(cuStreamBeginCapture, rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	NCCL(ncclAllReduce, rank->send, rank->recv, CAPTURED, ncclFloat, ncclSum, rank->comm, rank->stream);
	CU(cuStreamEndCapture, rank->stream, &graph);
	CU(cuGraphInstantiateWithFlags, &executable, graph, 0);
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch, executable, rank->stream);
	settle(rank);
	CU(cuGraphExecDestroy, executable);
	CU(cuGraphDestroy, graph);
}

/* On buffers that every rank has registered as a window; copy_engine: without SMs where NCCL can. */
static bool do_registered(const struct rank *rank, int copy_engine)
{
	ncclComm_t comm = split(rank, copy_engine);
	ncclWindow_t send, recv;

	if (!comm)
		return false;
	if (ncclCommWindowRegister(comm, rank->send, BYTES, &send, NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess) {
		NCCL(ncclCommDestroy, comm);
		return false;
	}
	NCCL(ncclCommWindowRegister, comm, rank->recv, BYTES, &recv, NCCL_WIN_COLL_SYMMETRIC);
	if (copy_engine)
		NCCL(ncclAllGather, rank->send, rank->recv, COPY_ENGINE, ncclFloat, comm, rank->stream);
	else
		NCCL(ncclAllReduce, rank->send, rank->recv, SYMMETRIC, ncclFloat, ncclSum, comm, rank->stream);
	settle(rank);
	NCCL(ncclCommWindowDeregister, comm, send);
	NCCL(ncclCommWindowDeregister, comm, recv);
	NCCL(ncclCommDestroy, comm);
	return true;
}

static void wait_for_others(struct board *board)
{
	__atomic_fetch_add(&board->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&board->ready, __ATOMIC_ACQUIRE) < RANKS)
		usleep(1000);
}

static void await_end_of_input(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static int be_rank(struct board *board, int number)
{
	struct rank rank = { .number = number };
	CUdevice device;
	int version = 0;

	CU(cuInit, 0);
	CU(cuDeviceGet, &device, number);
	CU(cuDevicePrimaryCtxRetain, &rank.context, device);
	CU(cuCtxSetCurrent, rank.context);
	CU(cuStreamCreate, &rank.stream, CU_STREAM_NON_BLOCKING);
	if (number == 0) {
		NCCL(ncclGetUniqueId, &board->id);
		__atomic_store_n(&board->have_id, 1, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&board->have_id, __ATOMIC_ACQUIRE))
		usleep(1000);
	NCCL(ncclCommInitRank, &rank.comm, RANKS, board->id, number);
	NCCL(ncclGetVersion, &version);
	NCCL(ncclMemAlloc, &rank.send, BYTES);
	NCCL(ncclMemAlloc, &rank.recv, BYTES);
	do_collectives(&rank);
	do_transfer(&rank);
	bool all_to_all = do_all_to_all(&rank);

	do_captured(&rank);
	bool symmetric = do_registered(&rank, 0), copy_engine = do_registered(&rank, 1);

	wait_for_others(board);
	if (number == 0) {
		printf("{\"nccl\":%d,\"all_to_all\":%s,\"windows\":%s}\n", version, all_to_all ? "true" : "false",
		       symmetric && copy_engine ? "true" : "false");
		fflush(stdout);
	}
	await_end_of_input();
	NCCL(ncclCommDestroy, rank.comm);
	NCCL(ncclMemFree, rank.send);
	NCCL(ncclMemFree, rank.recv);
	return 0;
}

static void start_rank(struct board *board, int number)
{
	char text[16];

	if (fork())
		return;
	snprintf(text, sizeof(text), "%d", number);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	setenv("WORLD_SIZE", "2", 1);
	exit(be_rank(board, number));
}

int main(void)
{
	struct board *board =
	    mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, worst = 0;

	if (board == MAP_FAILED)
		return 1;
	for (int i = 0; i < RANKS; i++)
		start_rank(board, i);
	while (wait(&status) > 0)
		worst |= status;
	return worst != 0;
}
