/* SPDX-License-Identifier: MIT */
/*
 * What it costs to see an operation's start and end on the GPU: two stream memory operations, two events, two stamp
 * kernels around an AllReduce and around nothing, on an idle GPU and on one that something like a matrix product fills.
 * One JSON line for each; the methods take turns, so that all see the same machine.
 *   gpu_around alone|two|hosts SECONDS REPEAT
 * SECONDS: for each operation on each GPU. REPEAT: operations between two looks at the clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_ranks.h"

enum { SAMPLES = 400, LARGE = 64 << 20, SMALL = 8, FILL_BLOCK_US = 50, FILL_WAVES = 400 };

enum method { NOTHING, MEMORY, EVENTS, STAMPS, METHODS };

static const char *const names[METHODS] = { "nothing", "2 stream memory operations", "2 events", "2 stamp kernels" };

struct bench {
	struct two_ranks *rank;
	CUstream filler;
	CUevent timed[2], plain[2];
	CUdeviceptr send, receive, word;
	double host_ns[METHODS][SAMPLES], stream_us[METHODS][SAMPLES];
	size_t count;
	unsigned int unfilled; /* samples that outlived the filling kernel */
};

static double seconds;
static int repeat;

static void mark(struct bench *bench, enum method method, int side)
{
	CUstream stream = bench->rank->stream;

	switch (method) {
	case MEMORY:
		DEVICE_CHECK(cuStreamWriteValue64(stream, bench->word + (CUdeviceptr)(side * 8), 1, 0));
		return;
	case EVENTS:
		DEVICE_CHECK(cuEventRecord(bench->plain[side], stream));
		return;
	case STAMPS:
		device_stamp(&bench->rank->device, stream, bench->word + (CUdeviceptr)(side * 8));
		return;
	default:
		return;
	}
}

static void operate(struct bench *bench, size_t bytes)
{
	if (bytes)
		NCCL_CHECK(ncclAllReduce((void *)bench->send, (void *)bench->receive, bytes / sizeof(float), ncclFloat,
					 ncclSum, bench->rank->comm, bench->rank->stream));
}

/* Host time of the two marks, stream time of everything; each for one operation. */
static void sample(struct bench *bench, enum method method, size_t bytes)
{
	CUstream stream = bench->rank->stream;
	uint64_t host_ns = 0;
	float ms = 0;

	DEVICE_CHECK(cuEventRecord(bench->timed[0], stream));
	for (int i = 0; i < repeat; i++) {
		uint64_t begin_ns = device_host_ns();

		mark(bench, method, 0);
		host_ns += device_host_ns() - begin_ns;
		operate(bench, bytes);
		begin_ns = device_host_ns();
		mark(bench, method, 1);
		host_ns += device_host_ns() - begin_ns;
	}
	DEVICE_CHECK(cuEventRecord(bench->timed[1], stream));
	DEVICE_CHECK(cuStreamSynchronize(stream));
	DEVICE_CHECK(cuEventElapsedTime(&ms, bench->timed[0], bench->timed[1]));
	bench->host_ns[method][bench->count] = (double)host_ns / repeat;
	bench->stream_us[method][bench->count] = ms * 1000 / repeat;
}

static void fill(struct bench *bench, bool begin)
{
	if (begin) {
		device_fill(&bench->rank->device, bench->filler, FILL_WAVES, FILL_BLOCK_US);
		return;
	}
	bench->unfilled += cuStreamQuery(bench->filler) == CUDA_SUCCESS;
	DEVICE_CHECK(cuStreamSynchronize(bench->filler));
}

static void print(struct bench *bench, size_t bytes, bool filled)
{
	double base_ns = device_median(bench->host_ns[NOTHING], bench->count);
	double base_us = device_median(bench->stream_us[NOTHING], bench->count);

	if (bench->rank->number)
		return;
	for (enum method method = NOTHING; method < METHODS; method++)
		printf("{\"bytes\":%zu,\"ranks\":%d,\"filled\":%s,\"method\":\"%s\",\"samples\":%zu,\"unfilled\":%u,"
		       "\"added_host_ns\":%.0f,\"stream_us\":%.3f,\"added_stream_us\":%.3f}\n",
		       bytes, bench->rank->size, filled ? "true" : "false", names[method], bench->count,
		       bench->unfilled, device_median(bench->host_ns[method], bench->count) - base_ns,
		       device_median(bench->stream_us[method], bench->count),
		       device_median(bench->stream_us[method], bench->count) - base_us);
	fflush(stdout);
}

static void measure(struct bench *bench, size_t bytes, bool filled)
{
	for (enum method method = NOTHING; method < METHODS; method++)
		sample(bench, method, bytes); /* not counted: it is the first of its kind */
	bench->unfilled = 0;
	two_ranks_begin(bench->rank, seconds);
	for (bench->count = 0; bench->count < SAMPLES && two_ranks_again(bench->rank); bench->count++) {
		for (enum method i = NOTHING; i < METHODS; i++) {
			if (filled)
				fill(bench, true);
			sample(bench, (i + bench->count) % METHODS, bytes);
			if (filled)
				fill(bench, false);
		}
	}
	print(bench, bytes, filled);
}

static int be_rank(struct two_ranks *rank)
{
	static struct bench bench;
	CUdeviceptr page = 0;
	void *host = NULL;

	bench.rank = rank;
	bench.filler = device_stream();
	for (int side = 0; side < 2; side++) {
		DEVICE_CHECK(cuEventCreate(&bench.timed[side], CU_EVENT_DEFAULT));
		DEVICE_CHECK(cuEventCreate(&bench.plain[side], CU_EVENT_DISABLE_TIMING));
	}
	DEVICE_CHECK(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
	DEVICE_CHECK(cuMemHostGetDevicePointer(&page, host, 0));
	bench.word = page;
	bench.send = device_memory(LARGE);
	bench.receive = device_memory(LARGE);
	for (int filled = 0; filled < 2; filled++) {
		measure(&bench, 0, filled);
		measure(&bench, SMALL, filled);
		measure(&bench, LARGE, filled);
	}
	return 0;
}

int main(int argc, char **argv)
{
	seconds = argc == 4 ? strtod(argv[2], NULL) : 0;
	repeat = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
	if (seconds <= 0 || repeat <= 0) {
		fprintf(stderr, "usage: gpu_around alone|two|hosts SECONDS REPEAT\n");
		return 2;
	}
	return two_ranks_run(strcmp(argv[1], "alone") ? 2 : 1, !strcmp(argv[1], "hosts"), be_rank);
}
