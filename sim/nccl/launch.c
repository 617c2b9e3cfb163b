/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include "network.h"
#include "profiler.h"

#define THREADS 512

/* The launch stream waits for the other streams of the group and for the communicator's earlier plans. */
static ncclResult_t order_streams(struct plan *plan)
{
	CUevent order = plan->comm->order;
	CUstream stream = plan_launch_stream(plan);
	ncclResult_t result = DRIVER(cuStreamWaitEvent, stream, order, 0);

	for (size_t i = 0; i + 1 < plan->stream_count && result == ncclSuccess; i++) {
		result = DRIVER(cuEventRecord, order, plan->streams[i]);
		if (result == ncclSuccess)
			result = DRIVER(cuStreamWaitEvent, stream, order, 0);
	}
	return result;
}

static ncclResult_t prepare(struct plan *plan)
{
	ncclResult_t result = capture_look(plan);

	if (result == ncclSuccess)
		result = plan->capture_id ? capture_prepare(plan) : order_streams(plan);
	if (result == ncclSuccess && plan->host_events)
		result = capture_enqueue_callback(plan);
	return result;
}

static uint32_t plan_channels(const struct plan *plan)
{
	uint32_t most = 1;

	for (const struct task *task = plan->collectives; task; task = task->next)
		most = task->channels > most ? task->channels : most;
	for (const struct task *task = plan->p2p; task; task = task->next)
		most = task->channels > most ? task->channels : most;
	return most;
}

static ncclResult_t launch_kernel(struct plan *plan)
{
	CUlaunchConfig config = {
		.gridDimX = plan_channels(plan),
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = THREADS,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = plan_launch_stream(plan),
	};
	void *params[] = { &plan };

	/* A replay's kernel has a copy of its own. */
	if (plan->capture_id)
		return DRIVER(cuLaunchKernelEx, &config, plan->comm->kernel, params, NULL);
	atomic_fetch_add(&plan->references, 1);
	comm_plan_started(plan->comm);
	ncclResult_t result = DRIVER(cuLaunchKernelEx, &config, plan->comm->kernel, params, NULL);
	if (result != ncclSuccess) {
		comm_plan_done(plan->comm);
		plan_drop(plan);
	}
	return result;
}

void launch_hand_to_proxy(struct plan *plan)
{
	struct transfer *transfers;

	if (plan->channel_events)
		proxy_add(&plan->comm->proxy, plan);
	ncclResult_t result = network_plan(plan, &transfers);
	if (result != ncclSuccess)
		comm_set_async_error(plan->comm, result);
	if (transfers)
		proxy_add_transfers(&plan->comm->proxy, transfers);
}

static ncclResult_t launch(struct plan *plan)
{
	profiler_launch_start(plan);
	ncclResult_t result = launch_kernel(plan);
	profiler_launch_stop(plan);
	if (result == ncclSuccess && !plan->host_events)
		profiler_plan_events(plan, launch_hand_to_proxy);
	return result;
}

/* What follows on any stream of the group, and the communicator's next plan, comes after this one. */
static ncclResult_t finish(struct plan *plan)
{
	CUevent order = plan->comm->order;

	if (plan->capture_id)
		return capture_finish(plan);
	ncclResult_t result = DRIVER(cuEventRecord, order, plan_launch_stream(plan));
	for (size_t i = 0; i + 1 < plan->stream_count && result == ncclSuccess; i++)
		result = DRIVER(cuStreamWaitEvent, plan->streams[i], order, 0);
	return result;
}

static ncclResult_t for_each_plan(struct plan *plans, ncclResult_t (*step)(struct plan *plan))
{
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = plans; plan && result == ncclSuccess; plan = plan->next) {
		if (plan_is_empty(plan))
			continue;
		result = DRIVER(cuCtxPushCurrent, plan->comm->context);
		if (result != ncclSuccess)
			break;
		result = step(plan);
		driver.cuCtxPopCurrent(NULL);
	}
	return result;
}

static ncclResult_t sort(struct plan *plans)
{
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = plans; plan && result == ncclSuccess; plan = plan->next) {
		result = plan_pair_self(plan);
		plan_sort(plan);
	}
	return result;
}

/* With NCCL_LAUNCH_MODE=GROUP: the communicator's other ranks in this process are as far. */
static ncclResult_t meet(const struct plan *plans)
{
	bool all = true;

	for (const struct plan *plan = plans; plan; plan = plan->next)
		clique_arrive(plan->comm);
	for (const struct plan *plan = plans; plan && all; plan = plan->next)
		all = clique_wait(plan->comm);
	return all ? ncclSuccess : ncclInternalError;
}

/* In NCCL's order. */
static ncclResult_t launch_all(struct plan *plans)
{
	ncclResult_t result = sort(plans);

	if (result == ncclSuccess)
		result = for_each_plan(plans, prepare);
	if (result == ncclSuccess)
		result = meet(plans);
	if (result == ncclSuccess)
		result = for_each_plan(plans, launch);
	if (result == ncclSuccess)
		result = meet(plans);
	return result == ncclSuccess ? for_each_plan(plans, finish) : result;
}

ncclResult_t launch_plans(struct plan *plans)
{
	ncclResult_t result = launch_all(plans);

	while (plans) {
		struct plan *next = plans->next;
		plan_drop(plans);
		plans = next;
	}
	return result;
}

static ncclResult_t launch_quietly(struct plan *plan)
{
	ncclResult_t result = prepare(plan);

	if (result == ncclSuccess)
		result = launch_kernel(plan);
	return result == ncclSuccess ? finish(plan) : result;
}

ncclResult_t launch_alone(const struct task *task)
{
	struct plan *plan = plan_new(task->comm);

	if (!plan)
		return ncclSystemError;
	ncclResult_t result = plan_add(plan, task);
	if (result == ncclSuccess)
		result = for_each_plan(plan, launch_quietly);
	plan_drop(plan);
	return result;
}
