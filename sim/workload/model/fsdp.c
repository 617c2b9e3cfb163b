/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/fsdp.h"

#include <stdlib.h>

#include "sim/workload/training/collective.h"

static size_t own_elements(const struct fsdp *fsdp)
{
	return fsdp->training->options->elements;
}

static size_t whole_elements(const struct fsdp *fsdp)
{
	return own_elements(fsdp) * fsdp->shard->size;
}

static enum values_type parameter_type(const struct fsdp *fsdp)
{
	return fsdp->training->options->fp8_allgather ? VALUES_FP8 : VALUES_BF16;
}

static enum values_type gradient_type(const struct fsdp *fsdp)
{
	return fsdp->training->options->gradients;
}

/* Ranks of the shard group on every replica. */
static void find_sources(struct fsdp *fsdp)
{
	const struct process_group *shard = fsdp->shard, *replicas = fsdp->replicas;

	for (int replica = 0; replica < replicas->size; replica++)
		for (int i = 0; i < shard->size; i++)
			fsdp->source_ranks[fsdp->sources++] = shard->members[i] + replicas->members[replica] -
							      fsdp->training->rank;
}

void fsdp_open(struct fsdp *fsdp, struct training *training, struct process_group *shard,
	       struct process_group *replicas, int layer_count, int site, bool reshard)
{
	*fsdp = (struct fsdp){ .training = training, .shard = shard, .replicas = replicas, .site = site,
			       .reshard = reshard, .layer_count = layer_count };
	fsdp->layers = calloc(layer_count, sizeof(*fsdp->layers));
	GPU_CHECK(fsdp->layers ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	for (int i = 0; i < layer_count; i++)
		fsdp->layers[i] = (struct fsdp_layer){
			.whole = gpu_allocate(whole_elements(fsdp) * values_size(parameter_type(fsdp))),
			.ready = gpu_event(),
			.used = gpu_event(),
		};
	fsdp->gather = gpu_stream();
	fsdp->scatter = gpu_stream();
	fsdp->reduce = gpu_stream();
	fsdp->computed = gpu_event();
	fsdp->scattered = gpu_event();
	fsdp->reduced = gpu_event();
	fsdp->scatter_input = gpu_allocate(whole_elements(fsdp) * values_size(gradient_type(fsdp)));
	fsdp->gradients = gpu_allocate(own_elements(fsdp) * values_size(gradient_type(fsdp)));
	find_sources(fsdp);
}

void fsdp_close(struct fsdp *fsdp)
{
	for (int i = 0; i < fsdp->layer_count; i++) {
		GPU_CHECK(cuMemFree(fsdp->layers[i].whole));
		GPU_CHECK(cuEventDestroy(fsdp->layers[i].ready));
		GPU_CHECK(cuEventDestroy(fsdp->layers[i].used));
	}
	free(fsdp->layers);
	GPU_CHECK(cuStreamDestroy(fsdp->gather));
	GPU_CHECK(cuStreamDestroy(fsdp->scatter));
	GPU_CHECK(cuStreamDestroy(fsdp->reduce));
	GPU_CHECK(cuEventDestroy(fsdp->computed));
	GPU_CHECK(cuEventDestroy(fsdp->scattered));
	GPU_CHECK(cuEventDestroy(fsdp->reduced));
	GPU_CHECK(cuMemFree(fsdp->scatter_input));
	GPU_CHECK(cuMemFree(fsdp->gradients));
}

static void check_gathered(struct fsdp *fsdp, int layer)
{
	struct expectation expected = { .what = "a gathered layer", .type = parameter_type(fsdp),
					.sources = fsdp->shard->size,
					.ranks = fsdp->shard->members, .elements = own_elements(fsdp),
					.site = fsdp->site + layer };

	if (checks_turn(&fsdp->training->checks, layer, fsdp->layer_count))
		checks_add(&fsdp->training->checks, &expected, fsdp->layers[layer].whole, fsdp->gather);
}

void fsdp_gather(struct fsdp *fsdp, int layer)
{
	struct fsdp_layer *this = &fsdp->layers[layer];
	size_t elements = own_elements(fsdp);
	enum values_type type = parameter_type(fsdp);
	CUdeviceptr own = this->whole + fsdp->shard->rank * elements * values_size(type);

	if (this->gathered || fsdp->shard->size == 1)
		return;
	if (fsdp->reshard)
		GPU_CHECK(cuStreamWaitEvent(
			fsdp->gather, fsdp->layers[fsdp->uses[fsdp->use_count % (FSDP_PREFETCH + 1)]].used, 0));
	GPU_CHECK(cuStreamWaitEvent(fsdp->gather, this->used, 0));
	fsdp->uses[fsdp->use_count++ % (FSDP_PREFETCH + 1)] = layer;
	training_fill(fsdp->training, own, type, fsdp->site + layer, 0, elements, fsdp->gather);
	collective_all_gather(fsdp->shard, own, this->whole, elements, values_nccl_type(type), fsdp->gather);
	check_gathered(fsdp, layer);
	GPU_CHECK(cuEventRecord(this->ready, fsdp->gather));
	this->gathered = true;
}

void fsdp_use(struct fsdp *fsdp, int layer)
{
	if (fsdp->shard->size > 1)
		GPU_CHECK(cuStreamWaitEvent(fsdp->training->gpu.compute, fsdp->layers[layer].ready, 0));
}

void fsdp_leave(struct fsdp *fsdp, int layer)
{
	GPU_CHECK(cuEventRecord(fsdp->layers[layer].used, fsdp->training->gpu.compute));
	if (fsdp->reshard)
		fsdp->layers[layer].gathered = false;
}

static void reduce_replicas(struct fsdp *fsdp)
{
	gpu_order(fsdp->scatter, fsdp->scattered, fsdp->reduce);
	collective_all_reduce(fsdp->replicas, fsdp->gradients, fsdp->gradients, own_elements(fsdp),
			      values_nccl_type(gradient_type(fsdp)), ncclSum, fsdp->reduce);
}

static void check_reduced(struct fsdp *fsdp, int layer, CUstream stream)
{
	struct expectation expected = { .what = "a reduced gradient", .type = gradient_type(fsdp), .reduced = true,
					.sources = fsdp->sources, .ranks = fsdp->source_ranks,
					.elements = own_elements(fsdp),
					.first = fsdp->shard->rank * own_elements(fsdp), .site = fsdp->site + layer };

	if (checks_turn(&fsdp->training->checks, layer, fsdp->layer_count))
		checks_add(&fsdp->training->checks, &expected, fsdp->gradients, stream);
}

void fsdp_reduce(struct fsdp *fsdp, int layer)
{
	bool scatters = fsdp->shard->size > 1, reduces = fsdp->replicas->size > 1;
	enum values_type type = gradient_type(fsdp);
	CUdeviceptr filled = scatters ? fsdp->scatter_input : fsdp->gradients;

	if (!scatters && !reduces)
		return;
	gpu_order(fsdp->training->gpu.compute, fsdp->computed, fsdp->scatter);
	GPU_CHECK(cuStreamWaitEvent(fsdp->scatter, fsdp->reduced, 0));
	training_fill(fsdp->training, filled, type, fsdp->site + layer, 0, whole_elements(fsdp), fsdp->scatter);
	if (scatters)
		collective_reduce_scatter(fsdp->shard, filled, fsdp->gradients, own_elements(fsdp),
					  values_nccl_type(type), fsdp->scatter);
	if (reduces)
		reduce_replicas(fsdp);
	check_reduced(fsdp, layer, reduces ? fsdp->reduce : fsdp->scatter);
	GPU_CHECK(cuEventRecord(fsdp->reduced, reduces ? fsdp->reduce : fsdp->scatter));
}

void fsdp_end_step(struct fsdp *fsdp)
{
	GPU_CHECK(cuStreamWaitEvent(fsdp->training->gpu.compute, fsdp->reduced, 0));
	for (int i = 0; i < fsdp->layer_count; i++)
		fsdp->layers[i].gathered = false;
}
