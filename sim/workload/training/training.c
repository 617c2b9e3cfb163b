/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/training.h"

#include "sim/workload/faults/fault.h"

int training_open(struct training *training, const struct options *options, const struct mesh *mesh, int rank,
		  int local_rank, struct store *store)
{
	*training = (struct training){ .options = options, .parallel = &options->parallel,
				       .mesh = *mesh, .rank = rank };
	training->noise = (struct noise){ .spread = options->spread, .noise = options->noise, .rank = rank,
					  .ranks = mesh_ranks(mesh) };
	gpu_open(&training->gpu, local_rank, options->host_waits);
	process_groups_open(&training->groups, &training->mesh, rank, store, options->parallel.names);
	values_open(&training->values, options->elements * mesh_ranks(mesh));
	checks_open(&training->checks, rank, options->run_ahead);
	training->checks.off = options->fault->spoil;
	if (options->fault->spoil)
		traffic_open(&training->traffic, training);
	return autograd_start(&training->autograd, training->gpu.context);
}

void training_close(struct training *training)
{
	autograd_stop(training->autograd);
	process_groups_close(&training->groups);
	if (training->options->fault->spoil)
		traffic_close(&training->traffic);
	checks_close(&training->checks);
	values_close(&training->values);
	gpu_close(&training->gpu);
}

void training_compute(struct training *training, int us)
{
	if (training->extra_us == GPU_FOR_EVER) {
		gpu_compute_for_ever(&training->gpu);
		return;
	}
	us = (int)(us * noise_factor(&training->noise, training->step) *
		   fault_slowness(training->options, training->rank, training->step,
				  training->in_tensor_parallel)) +
	     training->extra_us;
	training->extra_us = 0;
	gpu_compute(&training->gpu, us < 0 ? 0 : us);
}

void training_fill(struct training *training, CUdeviceptr to, enum values_type type, int site, size_t first,
		   size_t elements, CUstream stream)
{
	const void *from = values_of(&training->values, type, training->rank, site, training->step, first);

	GPU_CHECK(cuMemcpyHtoDAsync(to, from, elements * values_size(type), stream));
}
