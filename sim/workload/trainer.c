/* SPDX-License-Identifier: MIT */
#include "trainer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

enum { VERIFY_EVERY = 4 };

static void nccl_check(ncclResult_t result, const char *what)
{
	if (result == ncclSuccess)
		return;
	fprintf(stderr, "workload: %s: %s\n", what, ncclGetErrorString(result));
	exit(1);
}
#define NCCL_CHECK(call) nccl_check((call), #call)

static size_t layer_elements(const struct trainer *trainer)
{
	return trainer->options->elements * trainer->ranks;
}

static struct step_result *result_of(const struct trainer *trainer, int step)
{
	return &trainer->results[step % (trainer->options->run_ahead + 1)];
}

static bool is_verified(int step)
{
	return step % VERIFY_EVERY == 1;
}

/* Another layer in each verified step. */
static int verified_layer(const struct trainer *trainer, int step)
{
	return step / VERIFY_EVERY % trainer->options->layers;
}

static void open_results(struct trainer *trainer)
{
	int count = trainer->options->run_ahead + 1;

	trainer->results = calloc(count, sizeof(*trainer->results));
	GPU_CHECK(trainer->results ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	for (int i = 0; i < count; i++)
		trainer->results[i] = (struct step_result){
			.norm_in = gpu_allocate_pinned(sizeof(float)),
			.norm_out = gpu_allocate_pinned(sizeof(float)),
			.gathered = gpu_allocate_pinned(layer_elements(trainer) * sizeof(uint16_t)),
			.reduced = gpu_allocate_pinned(trainer->options->elements * sizeof(float)),
			.done = gpu_event(),
		};
}

static void open_buffers(struct trainer *trainer)
{
	size_t elements = trainer->options->elements;

	trainer->parameters = gpu_allocate_pinned((elements + PATTERN_PARAMETER_PERIOD) * sizeof(uint16_t));
	pattern_fill_parameters(trainer->parameters, elements);
	trainer->gradients = gpu_allocate_pinned((layer_elements(trainer) + PATTERN_GRADIENT_PERIOD) * sizeof(float));
	pattern_fill_gradients(trainer->gradients, layer_elements(trainer));

	for (int i = 0; i < TRAINER_GATHERED; i++) {
		trainer->gathered[i] = gpu_allocate(layer_elements(trainer) * sizeof(uint16_t));
		trainer->gathered_ready[i] = gpu_event();
		trainer->gathered_used[i] = gpu_event();
	}
	trainer->scatter_input = gpu_allocate(layer_elements(trainer) * sizeof(float));
	trainer->reduced = gpu_allocate(elements * sizeof(float));
	trainer->norm = gpu_allocate(trainer->ranks * sizeof(uint64_t));
	trainer->scattered = gpu_event();
}

void trainer_open(struct trainer *trainer, const struct options *options, int rank, int ranks, int local_rank,
		  const ncclUniqueId *id)
{
	*trainer = (struct trainer){ .options = options, .rank = rank, .ranks = ranks };
	gpu_open(&trainer->gpu, local_rank);
	NCCL_CHECK(ncclCommInitRank(&trainer->comm, ranks, *id, rank));
	open_buffers(trainer);
	open_results(trainer);
}

static void close_results(struct trainer *trainer)
{
	for (int i = 0; i <= trainer->options->run_ahead; i++) {
		GPU_CHECK(cuMemFreeHost(trainer->results[i].norm_in));
		GPU_CHECK(cuMemFreeHost(trainer->results[i].norm_out));
		GPU_CHECK(cuMemFreeHost(trainer->results[i].gathered));
		GPU_CHECK(cuMemFreeHost(trainer->results[i].reduced));
		GPU_CHECK(cuEventDestroy(trainer->results[i].done));
	}
	free(trainer->results);
}

void trainer_close(struct trainer *trainer)
{
	NCCL_CHECK(ncclCommDestroy(trainer->comm));
	close_results(trainer);
	for (int i = 0; i < TRAINER_GATHERED; i++) {
		GPU_CHECK(cuMemFree(trainer->gathered[i]));
		GPU_CHECK(cuEventDestroy(trainer->gathered_ready[i]));
		GPU_CHECK(cuEventDestroy(trainer->gathered_used[i]));
	}
	GPU_CHECK(cuMemFree(trainer->scatter_input));
	GPU_CHECK(cuMemFree(trainer->reduced));
	GPU_CHECK(cuMemFree(trainer->norm));
	GPU_CHECK(cuEventDestroy(trainer->scattered));
	GPU_CHECK(cuMemFreeHost(trainer->parameters));
	GPU_CHECK(cuMemFreeHost(trainer->gradients));
	gpu_close(&trainer->gpu);
}

/* A step uses each layer twice: forward in order, backward in reverse. */
static int layer_of_use(const struct trainer *trainer, int use)
{
	int layers = trainer->options->layers;

	return use < layers ? use : 2 * layers - 1 - use;
}

static void enqueue_gather(struct trainer *trainer, int step, int use)
{
	size_t elements = trainer->options->elements;
	int layer = layer_of_use(trainer, use), buffer = use % TRAINER_GATHERED;
	CUdeviceptr whole = trainer->gathered[buffer];
	CUdeviceptr own = whole + trainer->rank * elements * sizeof(uint16_t);
	CUstream stream = trainer->gpu.gather;

	GPU_CHECK(cuStreamWaitEvent(stream, trainer->gathered_used[buffer], 0));
	GPU_CHECK(cuMemcpyHtoDAsync(
		own, trainer->parameters + pattern_parameter_offset(trainer->rank, layer, step),
		elements * sizeof(uint16_t), stream));
	NCCL_CHECK(ncclAllGather((void *)own, (void *)whole, elements, ncclBfloat16, trainer->comm, stream));
	if (is_verified(step) && layer == verified_layer(trainer, step))
		GPU_CHECK(cuMemcpyDtoHAsync(result_of(trainer, step)->gathered, whole,
					    layer_elements(trainer) * sizeof(uint16_t), stream));
	GPU_CHECK(cuEventRecord(trainer->gathered_ready[buffer], stream));
}

static void enqueue_compute(struct trainer *trainer, int use, int extra_us)
{
	int layers = trainer->options->layers, buffer = use % TRAINER_GATHERED;
	int us = trainer->options->step_ms * 1000 / (3 * layers);

	if (use >= layers)
		us *= 2; /* backward: both gradients */
	us = us + extra_us < 0 ? 0 : us + extra_us;
	GPU_CHECK(cuStreamWaitEvent(trainer->gpu.compute, trainer->gathered_ready[buffer], 0));
	gpu_compute(&trainer->gpu, us);
	GPU_CHECK(cuEventRecord(trainer->gathered_used[buffer], trainer->gpu.compute));
}

static void enqueue_scatter(struct trainer *trainer, int step, int use)
{
	size_t elements = trainer->options->elements;
	int layer = layer_of_use(trainer, use);
	CUstream stream = trainer->gpu.scatter;

	GPU_CHECK(cuStreamWaitEvent(stream, trainer->gathered_used[use % TRAINER_GATHERED], 0));
	GPU_CHECK(cuMemcpyHtoDAsync(
		trainer->scatter_input,
		trainer->gradients + pattern_gradient_offset(trainer->rank, layer, step),
		layer_elements(trainer) * sizeof(float), stream));
	NCCL_CHECK(ncclReduceScatter((void *)trainer->scatter_input, (void *)trainer->reduced, elements, ncclFloat32,
				     ncclSum, trainer->comm, stream));
	if (is_verified(step) && layer == verified_layer(trainer, step))
		GPU_CHECK(cuMemcpyDtoHAsync(result_of(trainer, step)->reduced, trainer->reduced,
					    elements * sizeof(float), stream));
	GPU_CHECK(cuEventRecord(trainer->scattered, stream));
}

static void enqueue_norm(struct trainer *trainer, int step)
{
	struct step_result *result = result_of(trainer, step);
	CUstream stream = trainer->gpu.compute;
	void *norm = (void *)trainer->norm;

	*result->norm_in = pattern_norm(trainer->rank, step);
	GPU_CHECK(cuStreamWaitEvent(stream, trainer->scattered, 0));
	GPU_CHECK(cuMemcpyHtoDAsync(trainer->norm, result->norm_in, sizeof(float), stream));
	NCCL_CHECK(ncclAllReduce(norm, norm, 1, ncclFloat32, ncclSum, trainer->comm, stream));
	GPU_CHECK(cuMemcpyDtoHAsync(result->norm_out, trainer->norm, sizeof(float), stream));
	GPU_CHECK(cuEventRecord(result->done, stream));
}

void trainer_enqueue_step(struct trainer *trainer, int step, int extra_us)
{
	int layers = trainer->options->layers, uses = 2 * layers;

	for (int use = 0; use < TRAINER_PREFETCH; use++)
		enqueue_gather(trainer, step, use);
	for (int use = 0; use < uses; use++) {
		if (use + TRAINER_PREFETCH < uses)
			enqueue_gather(trainer, step, use + TRAINER_PREFETCH);
		enqueue_compute(trainer, use, use == 0 ? extra_us : 0);
		if (use >= layers)
			enqueue_scatter(trainer, step, use);
	}
	enqueue_norm(trainer, step);
}

static int wrong(const struct trainer *trainer, int step, const char *what, long index)
{
	fprintf(stderr, "workload: rank %d, step %d: %s is wrong from element %ld on\n", trainer->rank, step, what,
		index);
	return -EILSEQ;
}

static int verify(struct trainer *trainer, const struct step_result *result, int step)
{
	int layer = verified_layer(trainer, step);
	size_t elements = trainer->options->elements;
	long bad = pattern_check_gathered(result->gathered, elements, trainer->ranks, layer, step);

	if (bad >= 0)
		return wrong(trainer, step, "a gathered layer", bad);
	bad = pattern_check_reduced(result->reduced, elements, trainer->rank, trainer->ranks, layer, step);
	if (bad >= 0)
		return wrong(trainer, step, "a reduced gradient", bad);
	trainer->digest = pattern_digest(trainer->digest, result->gathered, layer_elements(trainer) * sizeof(uint16_t));
	trainer->digest = pattern_digest(trainer->digest, result->reduced, elements * sizeof(float));
	return 0;
}

int trainer_finish_step(struct trainer *trainer, int step)
{
	const struct step_result *result = result_of(trainer, step);

	GPU_CHECK(cuEventSynchronize(result->done));
	if (*result->norm_out != pattern_norm_sum(trainer->ranks, step))
		return wrong(trainer, step, "the gradients' norm", 0);
	trainer->digest = pattern_digest(trainer->digest, result->norm_out, sizeof(float));
	return is_verified(step) ? verify(trainer, result, step) : 0;
}

uint64_t trainer_job_digest(struct trainer *trainer)
{
	size_t size = trainer->ranks * sizeof(uint64_t);
	uint64_t *digests = gpu_allocate_pinned(size);
	CUdeviceptr own = trainer->norm + trainer->rank * sizeof(uint64_t);
	CUstream stream = trainer->gpu.compute;

	digests[trainer->rank] = trainer->digest;
	GPU_CHECK(cuMemcpyHtoDAsync(own, &digests[trainer->rank], sizeof(uint64_t), stream));
	NCCL_CHECK(ncclAllGather((void *)own, (void *)trainer->norm, 1, ncclUint64, trainer->comm, stream));
	GPU_CHECK(cuMemcpyDtoHAsync(digests, trainer->norm, size, stream));
	GPU_CHECK(cuStreamSynchronize(stream));
	uint64_t digest = pattern_digest(0, digests, size);
	GPU_CHECK(cuMemFreeHost(digests));
	return digest;
}
