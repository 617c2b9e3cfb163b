/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/pipeline.h"

#include <stdlib.h>

#include "sim/workload/model/site.h"
#include "sim/workload/training/collective.h"

/* What an F or B hands on, on this rank: what came, and what goes. */
struct activation {
	CUdeviceptr received, sent;
	CUevent has_come, is_made;
};

static const struct {
	bool exchanges, sends, backward;
} kinds[ACTION_KINDS] = {
	[ACTION_B] = { .backward = true },
	[ACTION_I] = { .backward = true },
	[ACTION_SEND_F] = { .exchanges = true, .sends = true },
	[ACTION_RECV_F] = { .exchanges = true },
	[ACTION_SEND_B] = { .exchanges = true, .sends = true, .backward = true },
	[ACTION_RECV_B] = { .exchanges = true, .backward = true },
};

static int activation_count(const struct pipeline *pipeline)
{
	return 2 * pipeline->schedule.stages_per_rank * pipeline->schedule.microbatches;
}

/* A rank's stages count from its first one on, in the order of the model. */
static int local_stage(const struct pipeline *pipeline, int stage)
{
	return stage / pipeline->group->size;
}

static int activation_index(const struct pipeline *pipeline, const struct action *action)
{
	int slot = local_stage(pipeline, action->stage) * pipeline->schedule.microbatches + action->microbatch;

	return 2 * slot + kinds[action->kind].backward;
}

static struct activation *activation_of(struct pipeline *pipeline, const struct action *action)
{
	return &pipeline->activations[activation_index(pipeline, action)];
}

int pipeline_open(struct pipeline *pipeline, struct training *training, struct model *model)
{
	const struct parallel *parallel = training->parallel;
	size_t bytes = training->options->elements * values_size(VALUES_BF16);

	*pipeline = (struct pipeline){ .training = training, .model = model, .passes = parallel->accumulate };
	pipeline->group = process_groups_add(&training->groups, "mesh_pp", MESH_SET(MESH_PP));
	int err = schedule_make(&pipeline->schedule, parallel->schedule, pipeline->group->size,
				parallel->stages_per_rank, parallel->microbatches);
	if (!err)
		err = schedule_make_forward(&pipeline->forward, &pipeline->schedule);
	if (err)
		return err;
	pipeline->activations = calloc(activation_count(pipeline), sizeof(*pipeline->activations));
	GPU_CHECK(pipeline->activations ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
	for (int i = 0; i < activation_count(pipeline); i++)
		pipeline->activations[i] = (struct activation){ gpu_allocate(bytes), gpu_allocate(bytes), gpu_event(),
								gpu_event() };
	pipeline->exchange = gpu_stream();
	pipeline->order = gpu_event();
	return 0;
}

void pipeline_close(struct pipeline *pipeline)
{
	for (int i = 0; i < activation_count(pipeline); i++) {
		GPU_CHECK(cuMemFree(pipeline->activations[i].received));
		GPU_CHECK(cuMemFree(pipeline->activations[i].sent));
		GPU_CHECK(cuEventDestroy(pipeline->activations[i].has_come));
		GPU_CHECK(cuEventDestroy(pipeline->activations[i].is_made));
	}
	free(pipeline->activations);
	GPU_CHECK(cuStreamDestroy(pipeline->exchange));
	GPU_CHECK(cuEventDestroy(pipeline->order));
	schedule_close(&pipeline->schedule);
	schedule_close(&pipeline->forward);
}

static int peer_of(const struct pipeline *pipeline, const struct action *action)
{
	bool next = kinds[action->kind].sends != kinds[action->kind].backward;

	return schedule_rank_of_stage(&pipeline->schedule, action->stage + (next ? 1 : -1));
}

/* The site is that of the stage which made the activation. */
static int site_of_exchange(const struct pipeline *pipeline, const struct action *action)
{
	bool backward = kinds[action->kind].backward;
	int maker = action->stage + (kinds[action->kind].sends ? 0 : backward ? 1 : -1);

	return site_of(SITE_ACTIVATION, 2 * (maker * pipeline->schedule.microbatches + action->microbatch) + backward);
}

static void enqueue_exchange(struct pipeline *pipeline, struct process_group *group, int peer,
			     const struct action *action)
{
	struct activation *activation = activation_of(pipeline, action);
	size_t elements = pipeline->training->options->elements;

	if (kinds[action->kind].sends)
		collective_send(group, activation->sent, elements, ncclBfloat16, peer, pipeline->exchange);
	else
		collective_recv(group, activation->received, elements, ncclBfloat16, peer, pipeline->exchange);
}

/* What is to be sent is made; what comes may overwrite what was used. */
static void prepare_exchange(struct pipeline *pipeline, const struct action *action)
{
	if (kinds[action->kind].sends)
		GPU_CHECK(cuStreamWaitEvent(pipeline->exchange, activation_of(pipeline, action)->is_made, 0));
}

static void check_received(struct pipeline *pipeline, const struct action *action)
{
	struct training *training = pipeline->training;
	struct expectation expected = { .what = "a received activation", .type = VALUES_BF16, .sources = 1,
					.ranks = &pipeline->group->members[peer_of(pipeline, action)],
					.elements = training->options->elements,
					.site = site_of_exchange(pipeline, action) };

	if (checks_turn(&training->checks, activation_index(pipeline, action), activation_count(pipeline)))
		checks_add(&training->checks, &expected, activation_of(pipeline, action)->received, pipeline->exchange);
}

static void finish_exchange(struct pipeline *pipeline, const struct action *action)
{
	if (kinds[action->kind].sends)
		return;
	check_received(pipeline, action);
	GPU_CHECK(cuEventRecord(activation_of(pipeline, action)->has_come, pipeline->exchange));
}

static void run_batch(struct pipeline *pipeline, const struct action *actions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		prepare_exchange(pipeline, &actions[i]);
	collective_start(pipeline->group);
	for (size_t i = 0; i < count; i++)
		enqueue_exchange(pipeline, pipeline->group, peer_of(pipeline, &actions[i]), &actions[i]);
	collective_end();
	for (size_t i = 0; i < count; i++)
		finish_exchange(pipeline, &actions[i]);
}

static void run_by_pair(struct pipeline *pipeline, const struct action *action)
{
	int peer = peer_of(pipeline, action);
	struct process_group **pair = &pipeline->pairs[peer];

	if (!*pair)
		*pair = process_groups_pair(&pipeline->training->groups, pipeline->group->members[peer]);
	prepare_exchange(pipeline, action);
	enqueue_exchange(pipeline, *pair, 1 - (*pair)->rank, action);
	finish_exchange(pipeline, action);
}

/* Returns how many actions it has run. */
static size_t run_exchanges(struct pipeline *pipeline, const struct action *actions, size_t left)
{
	size_t count = 0;

	if (pipeline->training->parallel->pairs) {
		run_by_pair(pipeline, actions);
		return 1;
	}
	while (count < left && kinds[actions[count].kind].exchanges)
		count++;
	run_batch(pipeline, actions, count);
	return count;
}

/* Is what this action needs made on another rank? */
static bool is_received(const struct pipeline *pipeline, const struct action *action)
{
	int from = action->stage + (kinds[action->kind].backward ? 1 : -1);

	return action->kind != ACTION_W && from >= 0 && from < pipeline->schedule.stages &&
	       schedule_rank_of_stage(&pipeline->schedule, from) != pipeline->group->rank;
}

static void make_activation(struct pipeline *pipeline, const struct action *action)
{
	struct training *training = pipeline->training;
	struct activation *activation = activation_of(pipeline, action);
	struct action made = { kinds[action->kind].backward ? ACTION_SEND_B : ACTION_SEND_F, action->stage,
			       action->microbatch };

	training_fill(training, activation->sent, VALUES_BF16, site_of_exchange(pipeline, &made), 0,
		      training->options->elements, training->gpu.compute);
	GPU_CHECK(cuEventRecord(activation->is_made, training->gpu.compute));
}

static void compute(struct pipeline *pipeline, const struct action *action, int number)
{
	static const enum backward_part parts[ACTION_KINDS] = {
		[ACTION_B] = BACKWARD_BOTH, [ACTION_I] = BACKWARD_INPUT, [ACTION_W] = BACKWARD_WEIGHTS,
	};
	int batches = pipeline->schedule.microbatches;
	struct pass pass = { .stage = local_stage(pipeline, action->stage),
			     .number = number * batches + action->microbatch };

	pass.reduces = pass.number == pipeline->passes * batches - 1;
	if (is_received(pipeline, action))
		GPU_CHECK(cuStreamWaitEvent(pipeline->training->gpu.compute,
					    activation_of(pipeline, action)->has_come, 0));
	if (action->kind == ACTION_F)
		model_forward(pipeline->model, &pass);
	else
		model_backward(pipeline->model, &pass, parts[action->kind]);
	if (action->kind != ACTION_W)
		make_activation(pipeline, action);
}

static void run(struct pipeline *pipeline, const struct schedule *schedule, int number)
{
	const struct action_list *list = &schedule->lists[pipeline->group->rank];
	CUstream computing = pipeline->training->gpu.compute;

	/* Buffers are those of the last run: nothing is received into one before it has been used. */
	gpu_order(computing, pipeline->order, pipeline->exchange);
	for (size_t i = 0; i < list->count;) {
		if (kinds[list->items[i].kind].exchanges)
			i += run_exchanges(pipeline, &list->items[i], list->count - i);
		else
			compute(pipeline, &list->items[i++], number);
	}
	gpu_order(pipeline->exchange, pipeline->order, computing);
}

void pipeline_train(struct pipeline *pipeline)
{
	for (int i = 0; i < pipeline->passes; i++)
		run(pipeline, &pipeline->schedule, i);
}

void pipeline_evaluate(struct pipeline *pipeline)
{
	run(pipeline, &pipeline->forward, 0);
}
