/* SPDX-License-Identifier: MIT */
/*
 * The first communicator of a process is made by one thread while another one captures a graph, in a given mode: does
 * what is done at its init, a plugin's share included, break the capture, or the communicator? One JSON line for each
 * rank.
 *   gpu_init two|hosts global|thread|relaxed
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "two_ranks.h"

enum { ELEMENTS = 1 << 12 };

static CUstreamCaptureMode mode;

static void *connect_ranks(void *argument)
{
	struct two_ranks *rank = argument;

	DEVICE_CHECK(cuCtxSetCurrent(rank->device.context));
	two_ranks_connect(rank);
	return NULL;
}

static int be_rank(struct two_ranks *rank)
{
	const CUdeviceptr memory = device_memory(ELEMENTS * 4);
	const CUstream captured = device_stream();
	CUgraph graph = NULL;
	pthread_t thread;

	DEVICE_CHECK(cuStreamBeginCapture(captured, mode));
	device_stamp(&rank->device, captured, memory);
	if (pthread_create(&thread, NULL, connect_ranks, rank) != 0)
		return 1;
	pthread_join(thread, NULL);
	const CUresult end = cuStreamEndCapture(captured, &graph);

	NCCL_CHECK(
	    ncclAllReduce((void *)memory, (void *)memory, ELEMENTS, ncclFloat, ncclSum, rank->comm, rank->stream));
	DEVICE_CHECK(cuStreamSynchronize(rank->stream));
	printf("{\"rank\":%d,\"capture_error\":%d}\n", rank->number, (int)end);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "global", "thread", "relaxed" };
	int found = -1;

	for (int i = 0; argc == 3 && i < 3; i++)
		if (strcmp(argv[2], names[i]) == 0)
			found = i;
	if (found < 0) {
		fprintf(stderr, "usage: gpu_init two|hosts global|thread|relaxed\n");
		return 2;
	}
	mode = (CUstreamCaptureMode)found;
	return two_ranks_run_apart(2, !strcmp(argv[1], "hosts"), be_rank);
}
