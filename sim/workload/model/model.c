/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/model.h"

#include "sim/workload/model/site.h"

static int layer_count(const struct model *model)
{
	return model->stages * model->stage_layers;
}

static bool has_experts(const struct model *model, int layer)
{
	return model->mixture && layer % 2;
}

/* Which use of a layer this is in the step, and how many there are: for sites and checks. */
static int use_of(const struct model *model, const struct pass *pass, int layer)
{
	return pass->number * layer_count(model) + layer;
}

static int use_count(const struct model *model)
{
	return model->passes * layer_count(model);
}

static void open_data_parallel(struct model *model)
{
	struct training *training = model->training;
	const int *size = training->mesh.sizes;
	bool reshard = size[MESH_PP] == 1;
	struct process_group *shard = process_groups_add(&training->groups, "mesh_fsdp", MESH_SHARD);
	struct process_group *replicas =
		process_groups_add(&training->groups, "mesh_dp_replicate", MESH_SET(MESH_DP_REPLICATE));

	model->replicated = shard->size == 1;
	if (model->replicated)
		ddp_open(&model->ddp, training, replicas, layer_count(model), model->stage_layers);
	else
		fsdp_open(&model->dense, training, shard, replicas, layer_count(model), site_of(SITE_FSDP, 0), reshard);
	if (model->mixture)
		fsdp_open(&model->experts, training,
			  process_groups_add(&training->groups, "mesh_efsdp", MESH_SET(MESH_EFSDP)), replicas,
			  layer_count(model), site_of(SITE_EXPERTS, 0), reshard);
}

void model_open(struct model *model, struct training *training, int stages, int passes)
{
	const struct options *options = training->options;
	struct process_groups *groups = &training->groups;
	int all_stages = stages * training->mesh.sizes[MESH_PP];

	*model = (struct model){ .training = training, .stages = stages, .passes = passes };
	model->mixture = training->mesh.sizes[MESH_EP] > 1;
	model->stage_layers = options->layers > all_stages ? options->layers / all_stages : 1;
	model->forward_us = options->step_ms * 1000 / (3 * passes * layer_count(model));
	open_data_parallel(model);
	tensor_parallel_open(&model->tp, training, process_groups_add(groups, "mesh_tp", MESH_SET(MESH_TP)));
	context_parallel_open(&model->cp, training, process_groups_add(groups, "mesh_cp", MESH_SET(MESH_CP)));
	expert_parallel_open(&model->ep, training, process_groups_add(groups, "mesh_ep", MESH_SET(MESH_EP)));
}

void model_close(struct model *model)
{
	if (model->replicated)
		ddp_close(&model->ddp);
	else
		fsdp_close(&model->dense);
	if (model->mixture)
		fsdp_close(&model->experts);
	tensor_parallel_close(&model->tp);
	context_parallel_close(&model->cp);
	expert_parallel_close(&model->ep);
}

static void gather(struct model *model, int layer)
{
	if (!model->replicated)
		fsdp_gather(&model->dense, layer);
	if (has_experts(model, layer))
		fsdp_gather(&model->experts, layer);
}

static void use(struct model *model, int layer)
{
	if (!model->replicated)
		fsdp_use(&model->dense, layer);
	if (has_experts(model, layer))
		fsdp_use(&model->experts, layer);
}

static void leave(struct model *model, int layer)
{
	if (!model->replicated)
		fsdp_leave(&model->dense, layer);
	if (has_experts(model, layer))
		fsdp_leave(&model->experts, layer);
}

static void reduce(struct model *model, int layer)
{
	if (model->replicated)
		ddp_reduce(&model->ddp, layer);
	else
		fsdp_reduce(&model->dense, layer);
	if (has_experts(model, layer))
		fsdp_reduce(&model->experts, layer);
}

/* What tensor parallelism does not split, as norms on a whole sequence: returns what is left of the layer. */
static int compute_outside(struct model *model, int us)
{
	int outside = us / 100 * model->training->parallel->outside_tp;

	if (outside)
		training_compute(model->training, outside);
	return us - outside;
}

/* The two halves of a layer, each split over the tensor-parallel ranks. */
static void forward_layer(struct model *model, int layer, int index)
{
	int us = compute_outside(model, model->forward_us), halves = 2 * use_count(model);

	tensor_parallel_enter(&model->tp, 2 * index, halves);
	context_parallel_attend(&model->cp, us / 2, false, index, use_count(model));
	tensor_parallel_leave(&model->tp, 2 * index, halves);
	if (has_experts(model, layer)) {
		expert_parallel_forward(&model->ep, us / 2, index, use_count(model));
		return;
	}
	tensor_parallel_enter(&model->tp, 2 * index + 1, halves);
	training_compute(model->training, us / 2);
	tensor_parallel_leave(&model->tp, 2 * index + 1, halves);
}

static void backward_layer(struct model *model, int layer, int index, int us)
{
	int halves = 2 * use_count(model);

	us = compute_outside(model, us);
	if (has_experts(model, layer)) {
		expert_parallel_backward(&model->ep, us / 2, index, use_count(model));
	} else {
		tensor_parallel_enter(&model->tp, 2 * index + 1, halves);
		training_compute(model->training, us / 2);
		tensor_parallel_leave(&model->tp, 2 * index + 1, halves);
	}
	tensor_parallel_enter(&model->tp, 2 * index, halves);
	context_parallel_attend(&model->cp, us / 2, true, index, use_count(model));
	tensor_parallel_leave(&model->tp, 2 * index, halves);
}

void model_forward(struct model *model, const struct pass *pass)
{
	int first = pass->stage * model->stage_layers, end = first + model->stage_layers;

	for (int layer = first; layer < end && layer < first + FSDP_PREFETCH; layer++)
		gather(model, layer);
	for (int layer = first; layer < end; layer++) {
		if (layer + FSDP_PREFETCH < end)
			gather(model, layer + FSDP_PREFETCH);
		use(model, layer);
		forward_layer(model, layer, use_of(model, pass, layer));
		leave(model, layer);
	}
}

struct backward {
	struct model *model;
	const struct pass *pass;
	enum backward_part part;
};

static void enqueue_backward(void *argument)
{
	const struct backward *backward = argument;
	struct model *model = backward->model;
	const struct pass *pass = backward->pass;
	bool input = backward->part & BACKWARD_INPUT, weights = backward->part & BACKWARD_WEIGHTS;
	int first = pass->stage * model->stage_layers, last = first + model->stage_layers - 1;

	for (int layer = last; layer >= first && layer > last - FSDP_PREFETCH; layer--)
		gather(model, layer);
	for (int layer = last; layer >= first; layer--) {
		if (layer - FSDP_PREFETCH >= first)
			gather(model, layer - FSDP_PREFETCH);
		use(model, layer);
		if (input)
			backward_layer(model, layer, use_of(model, pass, layer), model->forward_us * (weights ? 2 : 1));
		else
			training_compute(model->training, model->forward_us);
		leave(model, layer);
		if (weights && pass->reduces)
			reduce(model, layer);
	}
}

void model_backward(struct model *model, const struct pass *pass, enum backward_part part)
{
	struct backward backward = { model, pass, part };

	autograd_run(model->training->autograd, enqueue_backward, &backward);
}

void model_end_step(struct model *model)
{
	if (model->replicated)
		ddp_end_step(&model->ddp);
	else
		fsdp_end_step(&model->dense);
	if (model->mixture)
		fsdp_end_step(&model->experts);
}
