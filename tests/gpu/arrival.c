/* SPDX-License-Identifier: MIT */
/*
 * AllReduces whose rank 1 has a GPU full of something like matrix products, every second time: its stream arrives in
 * time, its kernel starts late. What a plugin makes of that is in its black box. One JSON line.
 *   gpu_arrival two|hosts ROUNDS FILL_MS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_ranks.h"

enum { ELEMENTS = 1 << 20, BLOCK_US = 50, LATE_RANK = 1 };

static unsigned long rounds, fill_ms;

static int be_rank(struct two_ranks *rank)
{
	const CUdeviceptr memory = device_memory(ELEMENTS * sizeof(float));
	const CUstream products = device_stream();
	const unsigned int waves = (unsigned int)(fill_ms * 1000 / BLOCK_US);

	two_ranks_begin(rank, 1e6);
	for (unsigned long round = 0; round < rounds && two_ranks_again(rank); round++) {
		if (round % 2 && rank->number == LATE_RANK)
			device_fill(&rank->device, products, waves, BLOCK_US);
		device_pause_us(2000); /* the products have the GPU */
		NCCL_CHECK(ncclAllReduce((void *)memory, (void *)memory, ELEMENTS, ncclFloat, ncclSum, rank->comm,
					 rank->stream));
		DEVICE_CHECK(cuStreamSynchronize(rank->stream));
		DEVICE_CHECK(cuStreamSynchronize(products));
	}
	device_pause_us(100000); /* the plugin's thread looks once more */
	if (rank->number == 0)
		printf("{\"rounds\":%lu,\"fill_ms\":%lu}\n", rounds, fill_ms);
	return 0;
}

int main(int argc, char **argv)
{
	rounds = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	fill_ms = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	if (!rounds || !fill_ms) {
		fprintf(stderr, "usage: gpu_arrival two|hosts ROUNDS FILL_MS\n");
		return 2;
	}
	return two_ranks_run(2, !strcmp(argv[1], "hosts"), be_rank);
}
