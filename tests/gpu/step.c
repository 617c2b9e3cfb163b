/* SPDX-License-Identifier: MIT */
/*
 * What a job's loop takes, wall time, with whatever the environment says about scanning: one collective again and
 * again, or something like a training step of a sharded model: layers of gather, compute, reduce. One JSON line.
 *   gpu_step alone|two|hosts allreduce|allgather|reducescatter|step MIB SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_ranks.h"

enum { CALLS = 8, LAYERS = 8, LAPS_MAX = 1 << 16, BLOCK_US = 50, COMPUTE_WAVES = 40 };

struct buffers {
	void *send, *receive;
	size_t count; /* bf16 elements, of the whole */
};

typedef void lap(const struct two_ranks *rank, const struct buffers *at);

static double seconds;
static size_t bytes;
static lap *chosen;
static double lap_us[LAPS_MAX];

static void all_reduce(const struct two_ranks *rank, const struct buffers *at)
{
	for (int i = 0; i < CALLS; i++)
		NCCL_CHECK(
		    ncclAllReduce(at->send, at->receive, at->count, ncclBfloat16, ncclSum, rank->comm, rank->stream));
}

static void all_gather(const struct two_ranks *rank, const struct buffers *at)
{
	for (int i = 0; i < CALLS; i++)
		NCCL_CHECK(ncclAllGather(at->send, at->receive, at->count / (size_t)rank->size, ncclBfloat16,
					 rank->comm, rank->stream));
}

static void reduce_scatter(const struct two_ranks *rank, const struct buffers *at)
{
	for (int i = 0; i < CALLS; i++)
		NCCL_CHECK(ncclReduceScatter(at->send, at->receive, at->count / (size_t)rank->size, ncclBfloat16,
					     ncclSum, rank->comm, rank->stream));
}

/* Forward and backward of each layer, as FSDP does; the kernel stands for its matrix products. */
static void step(const struct two_ranks *rank, const struct buffers *at)
{
	for (int i = 0; i < 2 * LAYERS; i++) {
		NCCL_CHECK(ncclAllGather(at->send, at->receive, at->count / (size_t)rank->size, ncclBfloat16,
					 rank->comm, rank->stream));
		device_fill(&rank->device, rank->stream, COMPUTE_WAVES, BLOCK_US);
		if (i >= LAYERS)
			NCCL_CHECK(ncclReduceScatter(at->receive, at->send, at->count / (size_t)rank->size,
						     ncclBfloat16, ncclSum, rank->comm, rank->stream));
	}
	NCCL_CHECK(ncclAllReduce(at->send, at->send, 1, ncclFloat, ncclSum, rank->comm, rank->stream));
}

static int be_rank(struct two_ranks *rank)
{
	struct buffers at = { (void *)device_memory(bytes), (void *)device_memory(bytes), bytes / 2 };
	size_t laps = 0;

	chosen(rank, &at); /* connects */
	DEVICE_CHECK(cuStreamSynchronize(rank->stream));
	two_ranks_begin(rank, seconds);
	while (two_ranks_again(rank)) {
		const uint64_t begin_ns = device_host_ns();

		chosen(rank, &at);
		DEVICE_CHECK(cuStreamSynchronize(rank->stream));
		lap_us[laps++ % LAPS_MAX] = (double)(device_host_ns() - begin_ns) / 1000;
	}
	if (rank->number == 0)
		printf("{\"laps\":%zu,\"lap_us_p50\":%.1f}\n", laps,
		       device_median(lap_us, laps < LAPS_MAX ? laps : LAPS_MAX));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		lap *lap;
	} laps[] = { { "allreduce", all_reduce },
		     { "allgather", all_gather },
		     { "reducescatter", reduce_scatter },
		     { "step", step } };

	for (size_t i = 0; argc == 5 && i < sizeof(laps) / sizeof(laps[0]); i++)
		if (strcmp(argv[2], laps[i].name) == 0)
			chosen = laps[i].lap;
	bytes = argc == 5 ? strtoull(argv[3], NULL, 10) << 20 : 0;
	seconds = argc == 5 ? strtod(argv[4], NULL) : 0;
	if (!chosen || !bytes || seconds <= 0) {
		fprintf(stderr, "usage: gpu_step alone|two|hosts allreduce|allgather|reducescatter|step MIB SECONDS\n");
		return 2;
	}
	return two_ranks_run(strcmp(argv[1], "alone") ? 2 : 1, !strcmp(argv[1], "hosts"), be_rank);
}
