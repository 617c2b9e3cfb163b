/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/ddp.h"

#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"

enum { BUCKET_LAYERS = 2 };

void ddp_open(struct ddp *ddp, struct training *training, struct process_group *group, int layer_count,
	      int stage_layers)
{
	*ddp = (struct ddp){ .training = training, .group = group, .layer_count = layer_count,
			     .stage_layers = stage_layers };
	ddp->gradients = gpu_allocate(layer_count * training->options->elements *
				       values_size(training->options->gradients));
	ddp->reduce = gpu_stream();
	ddp->computed = gpu_event();
	ddp->reduced = gpu_event();
}

void ddp_close(struct ddp *ddp)
{
	GPU_CHECK(cuStreamDestroy(ddp->reduce));
	GPU_CHECK(cuEventDestroy(ddp->computed));
	GPU_CHECK(cuEventDestroy(ddp->reduced));
	GPU_CHECK(cuMemFree(ddp->gradients));
}

static enum values_type gradient_type(const struct ddp *ddp)
{
	return ddp->training->options->gradients;
}

static void fill_layer(struct ddp *ddp, CUdeviceptr at, int layer)
{
	training_fill(ddp->training, at, gradient_type(ddp), site_of(SITE_DDP, layer), 0,
		      ddp->training->options->elements, ddp->reduce);
}

static void check_layer(struct ddp *ddp, CUdeviceptr at, int layer)
{
	struct expectation expected = { .what = "a reduced gradient", .type = gradient_type(ddp), .reduced = true,
					.sources = ddp->group->size, .ranks = ddp->group->members,
					.elements = ddp->training->options->elements,
					.site = site_of(SITE_DDP, layer) };

	if (checks_turn(&ddp->training->checks, layer, ddp->layer_count))
		checks_add(&ddp->training->checks, &expected, at, ddp->reduce);
}

void ddp_reduce(struct ddp *ddp, int layer)
{
	size_t elements = ddp->training->options->elements;
	size_t bytes = elements * values_size(gradient_type(ddp));
	CUdeviceptr bucket = ddp->gradients + layer * bytes;
	int within = layer % ddp->stage_layers, left = ddp->stage_layers - within;
	int count = left < BUCKET_LAYERS ? left : BUCKET_LAYERS;

	if (ddp->group->size == 1 || within % BUCKET_LAYERS)
		return;
	gpu_order(ddp->training->gpu.compute, ddp->computed, ddp->reduce);
	for (int i = 0; i < count; i++)
		fill_layer(ddp, bucket + i * bytes, layer + i);
	collective_all_reduce(ddp->group, bucket, bucket, count * elements, values_nccl_type(gradient_type(ddp)),
			      ncclSum, ddp->reduce);
	for (int i = 0; i < count; i++)
		check_layer(ddp, bucket + i * bytes, layer + i);
	GPU_CHECK(cuEventRecord(ddp->reduced, ddp->reduce));
}

void ddp_end_step(struct ddp *ddp)
{
	GPU_CHECK(cuStreamWaitEvent(ddp->training->gpu.compute, ddp->reduced, 0));
}
