/* SPDX-License-Identifier: MIT */
/*
 * AllReduces of 8 bytes in bursts, as small operations come in training: what one costs the thread that calls, with
 * whatever profiler plugin the environment names. One JSON line.
 *   gpu_loop two|hosts SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_ranks.h"

enum { BURST = 64, CALLS_MAX = 1 << 20 };

static double seconds;
static double call_ns[CALLS_MAX];

static size_t burst(const struct two_ranks *rank, CUdeviceptr memory, size_t count)
{
	for (int i = 0; i < BURST && count < CALLS_MAX; i++) {
		uint64_t begin_ns = device_host_ns();

		NCCL_CHECK(
		    ncclAllReduce((void *)memory, (void *)memory, 2, ncclFloat, ncclSum, rank->comm, rank->stream));
		call_ns[count++] = (double)(device_host_ns() - begin_ns);
	}
	DEVICE_CHECK(cuStreamSynchronize(rank->stream));
	return count;
}

static int be_rank(struct two_ranks *rank)
{
	CUdeviceptr memory = device_memory(4096);
	size_t count = 0;
	double sum = 0;

	burst(rank, memory, 0); /* connects */
	uint64_t begin_ns = device_host_ns();

	two_ranks_begin(rank, seconds);
	while (two_ranks_again(rank))
		count = burst(rank, memory, count);
	double wall_us = (double)(device_host_ns() - begin_ns) / 1000;

	for (size_t i = 0; i < count; i++)
		sum += call_ns[i];
	double median = device_median(call_ns, count);

	if (rank->number == 0)
		printf("{\"calls\":%zu,\"call_ns_p50\":%.0f,\"call_ns_p10\":%.0f,\"call_ns_mean\":%.0f,"
		       "\"wall_us_per_call\":%.2f}\n",
		       count, median, count ? call_ns[count / 10] : 0, count ? sum / (double)count : 0,
		       count ? wall_us / (double)count : 0);
	return 0;
}

int main(int argc, char **argv)
{
	seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
	if (seconds <= 0) {
		fprintf(stderr, "usage: gpu_loop two|hosts SECONDS\n");
		return 2;
	}
	return two_ranks_run(2, !strcmp(argv[1], "hosts"), be_rank);
}
