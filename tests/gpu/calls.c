/* SPDX-License-Identifier: MIT */
/*
 * One program for a GPU and for the stand-in: two ranks, every kind of call that training makes, results checked.
 * Rank 0 prints one JSON line: NCCL's version and how often which function was called outside of a graph.
 *   gpu_calls two|hosts
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_ranks.h"

enum { ELEMENTS = 1 << 20, ROUNDS = 3, REPLAYS = 3 };

struct buffers {
	CUdeviceptr send, receive;
};

static float first_of(const struct two_ranks *rank, CUdeviceptr memory)
{
	float value = 0;

	DEVICE_CHECK(cuStreamSynchronize(rank->stream));
	DEVICE_CHECK(cuMemcpyDtoH(&value, memory, sizeof(value)));
	return value;
}

static void expect(const struct two_ranks *rank, CUdeviceptr memory, float right, const char *what)
{
	float value = first_of(rank, memory);

	if (value == right)
		return;
	fprintf(stderr, "gpu_calls: rank %d: %s left %g instead of %g\n", rank->number, what, (double)value,
		(double)right);
	exit(1);
}

static void set_input(const struct two_ranks *rank, CUdeviceptr memory)
{
	float value = (float)(rank->number + 1);
	unsigned int bits;

	memcpy(&bits, &value, sizeof(bits));
	DEVICE_CHECK(cuMemsetD32(memory, bits, ELEMENTS));
	DEVICE_CHECK(cuCtxSynchronize()); /* our stream does not wait for the legacy stream */
}

static void reduce(const struct two_ranks *rank, const struct buffers *at, size_t count)
{
	NCCL_CHECK(
	    ncclAllReduce((void *)at->send, (void *)at->receive, count, ncclFloat, ncclSum, rank->comm, rank->stream));
}

static void do_collectives(const struct two_ranks *rank, const struct buffers *at)
{
	reduce(rank, at, 2);
	expect(rank, at->receive, 3, "AllReduce");
	reduce(rank, at, ELEMENTS);
	expect(rank, at->receive, 3, "AllReduce of 4 MiB");
	NCCL_CHECK(
	    ncclAllGather((void *)at->send, (void *)at->receive, ELEMENTS / 2, ncclFloat, rank->comm, rank->stream));
	expect(rank, at->receive + ELEMENTS / 2 * sizeof(float), 2, "AllGather");
	NCCL_CHECK(ncclReduceScatter((void *)at->send, (void *)at->receive, ELEMENTS / 2, ncclFloat, ncclSum,
				     rank->comm, rank->stream));
	expect(rank, at->receive, 3, "ReduceScatter");
	NCCL_CHECK(
	    ncclBroadcast((void *)at->send, (void *)at->receive, ELEMENTS, ncclFloat, 1, rank->comm, rank->stream));
	expect(rank, at->receive, 2, "Broadcast");
	NCCL_CHECK(ncclReduce((void *)at->send, (void *)at->receive, ELEMENTS, ncclFloat, ncclSum, 0, rank->comm,
			      rank->stream));
	expect(rank, at->receive, rank->number ? 2 : 3, "Reduce");
}

static void do_groups(const struct two_ranks *rank, const struct buffers *at)
{
	int peer = 1 - rank->number;

	NCCL_CHECK(ncclGroupStart());
	NCCL_CHECK(ncclSend((void *)at->send, ELEMENTS, ncclFloat, peer, rank->comm, rank->stream));
	NCCL_CHECK(ncclRecv((void *)at->receive, ELEMENTS, ncclFloat, peer, rank->comm, rank->stream));
	NCCL_CHECK(ncclGroupEnd());
	expect(rank, at->receive, (float)(peer + 1), "Send and Recv");
	NCCL_CHECK(ncclGroupStart());
	reduce(rank, at, 1000);
	reduce(rank, &(struct buffers){ at->send + 65536, at->receive + 65536 }, 2000);
	NCCL_CHECK(ncclGroupEnd());
	expect(rank, at->receive, 3, "two AllReduces in a group");
}

static void do_captured(const struct two_ranks *rank, const struct buffers *at)
{
	CUgraph graph;
	CUgraphExec executable;

	DEVICE_CHECK(cuStreamBeginCapture(rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	reduce(rank, at, 3000);
	DEVICE_CHECK(cuStreamEndCapture(rank->stream, &graph));
	DEVICE_CHECK(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < REPLAYS; i++)
		DEVICE_CHECK(cuGraphLaunch(executable, rank->stream));
	expect(rank, at->receive, 3, "a graph");
	DEVICE_CHECK(cuGraphExecDestroy(executable));
	DEVICE_CHECK(cuGraphDestroy(graph));
}

static void do_split(const struct two_ranks *rank, const struct buffers *at)
{
	struct two_ranks other = *rank;

	NCCL_CHECK(ncclCommSplit(rank->comm, 0, rank->number, &other.comm, NULL));
	reduce(&other, at, 4000);
	expect(&other, at->receive, 3, "a split communicator");
	NCCL_CHECK(ncclCommDestroy(other.comm));
}

static int be_rank(struct two_ranks *rank)
{
	struct buffers at = { device_memory(ELEMENTS * sizeof(float)), device_memory(ELEMENTS * sizeof(float)) };
	int version = 0;

	set_input(rank, at.send);
	for (int i = 0; i < ROUNDS; i++) {
		do_collectives(rank, &at);
		do_groups(rank, &at);
	}
	do_captured(rank, &at);
	do_split(rank, &at);
	NCCL_CHECK(ncclGetVersion(&version));
	if (rank->number == 0)
		printf("{\"nccl\":%d,\"captured\":1,\"replays\":%d,\"calls\":{\"AllReduce\":%d,\"AllGather\":%d,"
		       "\"ReduceScatter\":%d,\"Broadcast\":%d,\"Reduce\":%d,\"Send\":%d,\"Recv\":%d}}\n",
		       version, REPLAYS, 4 * ROUNDS + 1, ROUNDS, ROUNDS, ROUNDS, ROUNDS, ROUNDS, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: gpu_calls two|hosts\n");
		return 2;
	}
	return two_ranks_run(2, !strcmp(argv[1], "hosts"), be_rank);
}
