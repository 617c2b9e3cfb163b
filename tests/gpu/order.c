/* SPDX-License-Identifier: MIT */
/*
 * Two communicators, each with a stream of its own, which the two ranks call in opposite order. That is a correct
 * program as long as nothing joins the streams. One JSON line: how many rounds ended. A round that does not end within
 * so many seconds ends the program.
 *   gpu_order two|hosts ROUNDS SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "two_ranks.h"

enum {
	ELEMENTS = 4 << 20, /* a scan that takes its time */
	BLOCK_US = 50,
	WAVES = 4,
	COMMS = 2,
	CALLS = 4
};

struct pair {
	ncclComm_t comms[COMMS];
	CUstream streams[COMMS];
	CUdeviceptr send[COMMS], receive[COMMS];
};

static unsigned long rounds, round_s;

static void begin(const struct two_ranks *rank, const struct pair *pair, int i)
{
	/* Several without a pause: what a later one waits for can then be what the other rank has yet to begin. */
	for (int call = 0; call < CALLS; call++)
		NCCL_CHECK(ncclAllReduce((void *)pair->send[i], (void *)pair->receive[i], ELEMENTS, ncclFloat, ncclSum,
					 pair->comms[i], pair->streams[i]));
	device_fill(&rank->device, pair->streams[i], WAVES, BLOCK_US);
}

static bool ended(const struct pair *pair)
{
	const uint64_t end_ns = device_host_ns() + round_s * 1000000000ULL;

	while (cuStreamQuery(pair->streams[0]) != CUDA_SUCCESS || cuStreamQuery(pair->streams[1]) != CUDA_SUCCESS) {
		if (device_host_ns() > end_ns)
			return false;
		device_pause_us(200);
	}
	return true;
}

static int be_rank(struct two_ranks *rank)
{
	struct pair pair = { .comms = { rank->comm }, .streams = { rank->stream, device_stream() } };
	unsigned long done = 0;
	bool all = true;

	NCCL_CHECK(ncclCommSplit(rank->comm, 0, rank->number, &pair.comms[1], NULL));
	for (int i = 0; i < COMMS; i++) {
		pair.send[i] = device_memory(ELEMENTS * sizeof(float));
		pair.receive[i] = device_memory(ELEMENTS * sizeof(float));
		begin(rank, &pair, i); /* connects, in the same order */
		DEVICE_CHECK(cuStreamSynchronize(pair.streams[i]));
	}
	two_ranks_begin(rank, 1e6);
	while (all && done < rounds && two_ranks_again(rank)) {
		begin(rank, &pair, rank->number);
		begin(rank, &pair, 1 - rank->number);
		all = ended(&pair);
		done += all;
	}
	if (rank->number == 0)
		printf("{\"rounds\":%lu,\"done\":%lu}\n", rounds, done);
	fflush(stdout);
	/* What waits for ever would keep every other call of the driver. */
	if (!all)
		_exit(3);
	NCCL_CHECK(ncclCommDestroy(pair.comms[1]));
	return 0;
}

int main(int argc, char **argv)
{
	rounds = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	round_s = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	if (!rounds || !round_s) {
		fprintf(stderr, "usage: gpu_order two|hosts ROUNDS SECONDS\n");
		return 2;
	}
	return two_ranks_run(2, !strcmp(argv[1], "hosts"), be_rank);
}
