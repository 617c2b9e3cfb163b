/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/trainer.h"

#include <stdio.h>
#include <string.h>

#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"
#include "sim/workload/training/step_call.h"

static void add_groups(struct trainer *trainer)
{
	static const struct {
		const char *name;
		unsigned int dimensions;
	} norms[TRAINER_NORM_GROUPS] = {
		{ "mesh_fsdp", MESH_SHARD },
		{ "mesh_tp", MESH_SET(MESH_TP) },
		{ "mesh_efsdp", MESH_SET(MESH_EFSDP) },
		{ "mesh_ep", MESH_SET(MESH_EP) },
		{ "mesh_pp", MESH_SET(MESH_PP) },
	};
	struct process_groups *groups = &trainer->training.groups;

	trainer->world = &groups->items[0];
	trainer->loss = process_groups_add(groups, "mesh_loss", MESH_LOSS);
	for (int i = 0; i < TRAINER_NORM_GROUPS; i++) {
		struct process_group *group = process_groups_add(groups, norms[i].name, norms[i].dimensions);
		bool experts = norms[i].dimensions & (MESH_SET(MESH_EFSDP) | MESH_SET(MESH_EP));

		if (group->size > 1 && (!experts || trainer->model.mixture))
			trainer->norms[trainer->norm_count++] = group;
	}
}

static int open_parts(struct trainer *trainer)
{
	const struct parallel *parallel = trainer->training.parallel;
	int pp = trainer->training.mesh.sizes[MESH_PP];
	int stages = parallel->stages_per_rank ? parallel->stages_per_rank : parallel->schedule->stages_per_rank;

	trainer->pipelined = pp > 1;
	if (!trainer->pipelined) {
		model_open(&trainer->model, &trainer->training, 1, parallel->accumulate);
		return 0;
	}
	model_open(&trainer->model, &trainer->training, stages, parallel->accumulate * parallel->microbatches);
	return pipeline_open(&trainer->pipeline, &trainer->training, &trainer->model);
}

static void wait_for_stream(struct trainer *trainer)
{
	GPU_CHECK(cuEventRecord(trainer->synced, trainer->training.gpu.compute));
	GPU_CHECK(cuEventSynchronize(trainer->synced));
}

/* As torch.distributed.barrier(): an AllReduce of one element, for which the host waits. */
static void barrier(struct trainer *trainer)
{
	CUdeviceptr one = trainer->scalars;

	if (trainer->world->size == 1)
		return;
	collective_all_reduce(trainer->world, one, one, 1, ncclFloat32, ncclSum, trainer->training.gpu.compute);
	wait_for_stream(trainer);
}

/* As all_gather_object(): everybody's size, then everybody's bytes, padded to the largest. */
static void gather_objects(struct trainer *trainer)
{
	const struct process_group *world = trainer->world;
	CUstream stream = trainer->training.gpu.compute;
	CUdeviceptr own = trainer->scalars + world->rank * sizeof(int64_t);
	int64_t largest = 0;

	if (world->size == 1)
		return;
	int64_t *sizes = gpu_allocate_pinned(world->size * sizeof(*sizes));
	sizes[world->rank] = 100 + 10 * world->rank;
	GPU_CHECK(cuMemcpyHtoDAsync(own, &sizes[world->rank], sizeof(*sizes), stream));
	collective_all_gather(trainer->world, own, trainer->scalars, 1, ncclInt64, stream);
	GPU_CHECK(cuMemcpyDtoHAsync(sizes, trainer->scalars, world->size * sizeof(*sizes), stream));
	wait_for_stream(trainer);
	for (int i = 0; i < world->size; i++)
		largest = sizes[i] > largest ? sizes[i] : largest;
	CUdeviceptr objects = gpu_allocate((world->size + 1) * largest);
	collective_all_gather(trainer->world, objects, objects + largest, largest, ncclUint8, stream);
	wait_for_stream(trainer);
	GPU_CHECK(cuMemFree(objects));
	GPU_CHECK(cuMemFreeHost(sizes));
}

int trainer_open(struct trainer *trainer, const struct options *options, const struct mesh *mesh, int rank,
		 int local_rank, struct store *store, struct fault *fault)
{
	memset(trainer, 0, sizeof(*trainer));
	int err = training_open(&trainer->training, options, mesh, rank, local_rank, store);
	if (!err)
		err = open_parts(trainer);
	if (err)
		return err;
	trainer->scalars = gpu_allocate((mesh_ranks(mesh) + TRAINER_METRICS) * sizeof(int64_t));
	trainer->synced = gpu_event();
	add_groups(trainer);
	if (options->parallel.eager) {
		process_group_comm(trainer->world);
		fault_before_splits(fault);
		process_groups_connect(&trainer->training.groups);
	}
	gather_objects(trainer);
	barrier(trainer);
	if (options->parallel.graphs)
		graph_step_open(&trainer->graph, &trainer->training, trainer->world);
	return 0;
}

void trainer_close(struct trainer *trainer)
{
	graph_step_close(&trainer->graph);
	if (trainer->pipelined)
		pipeline_close(&trainer->pipeline);
	model_close(&trainer->model);
	GPU_CHECK(cuMemFree(trainer->scalars));
	GPU_CHECK(cuEventDestroy(trainer->synced));
	training_close(&trainer->training);
}

/* A few elements for the whole group. Each step checks them. */
static void reduce_numbers(struct trainer *trainer, struct process_group *group, ncclRedOp_t op, int number,
			   size_t count, const char *what)
{
	struct training *training = &trainer->training;
	CUstream stream = training->gpu.compute;
	struct expectation expected = { .what = what, .type = VALUES_FLOAT, .reduced = true, .largest = op == ncclMax,
					.sources = group->size, .ranks = group->members, .elements = count,
					.site = site_of(SITE_SCALAR, number) };

	training_fill(training, trainer->scalars, VALUES_FLOAT, expected.site, 0, count, stream);
	if (group->size > 1)
		collective_all_reduce(group, trainer->scalars, trainer->scalars, count, ncclFloat32, op, stream);
	checks_add(&training->checks, &expected, trainer->scalars, stream);
}

static void reduce_scalar(struct trainer *trainer, struct process_group *group, ncclRedOp_t op, int number,
			  const char *what)
{
	reduce_numbers(trainer, group, op, number, 1, what);
}

/* clip_grad_norm_: one AllReduce for each dimension of the mesh that gradients are spread over. */
static void reduce_norm(struct trainer *trainer)
{
	for (int i = 0; i < trainer->norm_count; i++)
		reduce_scalar(trainer, trainer->norms[i], ncclSum, i, "the gradients' norm");
}

static void reduce_loss(struct trainer *trainer, int number)
{
	reduce_scalar(trainer, trainer->loss, ncclSum, number, "the mean loss");
	reduce_scalar(trainer, trainer->loss, ncclMax, number + 1, "the largest loss");
}

static void train(struct trainer *trainer)
{
	int passes = trainer->model.passes;

	if (trainer->pipelined)
		pipeline_train(&trainer->pipeline);
	for (int i = 0; i < passes && !trainer->pipelined; i++) {
		struct pass pass = { .number = i, .reduces = i == passes - 1 };

		model_forward(&trainer->model, &pass);
		tensor_parallel_loss(&trainer->model.tp);
		model_backward(&trainer->model, &pass, BACKWARD_BOTH);
	}
	model_end_step(&trainer->model);
	reduce_norm(trainer);
	reduce_loss(trainer, 8);
}

static void evaluate(struct trainer *trainer)
{
	struct pass pass = { 0 };

	if (trainer->pipelined)
		pipeline_evaluate(&trainer->pipeline);
	else
		model_forward(&trainer->model, &pass);
	model_end_step(&trainer->model);
	reduce_loss(trainer, 10);
	reduce_numbers(trainer, trainer->loss, ncclSum, 12, TRAINER_METRICS, "the metrics of the evaluation");
}

void trainer_enqueue_step(struct trainer *trainer, int step, int extra_us)
{
	struct training *training = &trainer->training;
	int evaluate_every = training->parallel->evaluate_every;

	step_call(training->options, training->rank, step);
	training->step = step;
	training->extra_us = extra_us;
	checks_begin(&training->checks, step);
	if (training->parallel->graphs)
		graph_step_replay(&trainer->graph);
	train(trainer);
	if (evaluate_every && step % evaluate_every == 0)
		evaluate(trainer);
	checks_end(&training->checks, training->gpu.compute);
	if (step == 1)
		barrier(trainer); /* as TorchTitan does before it sets the time-outs of training */
}

int trainer_finish_step(struct trainer *trainer, int step)
{
	return checks_finish(&trainer->training.checks, step);
}

uint64_t trainer_job_digest(struct trainer *trainer)
{
	const struct process_group *world = trainer->world;
	uint64_t *digests = gpu_allocate_pinned(world->size * sizeof(uint64_t));
	CUdeviceptr own = trainer->scalars + world->rank * sizeof(uint64_t);
	CUstream stream = trainer->training.gpu.compute;
	uint64_t digest = 0;

	digests[world->rank] = trainer->training.checks.digest;
	GPU_CHECK(cuMemcpyHtoDAsync(own, &digests[world->rank], sizeof(uint64_t), stream));
	collective_all_gather(trainer->world, own, trainer->scalars, 1, ncclUint64, stream);
	GPU_CHECK(cuMemcpyDtoHAsync(digests, trainer->scalars, world->size * sizeof(uint64_t), stream));
	wait_for_stream(trainer);
	for (int i = 0; i < world->size; i++)
		digest = (digest ^ digests[i]) * 0x100000001b3; /* FNV-1a, by words */
	GPU_CHECK(cuMemFreeHost(digests));
	return digest;
}
