/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/launch.h"

#include "sim/nccl/comm/clique.h"
#include "sim/nccl/launch/capture_plan.h"
#include "sim/nccl/launch/connect.h"
#include "sim/nccl/launch/split.h"
#include "sim/nccl/launch/work_count.h"
#include "sim/nccl/network/network.h"
#include "sim/nccl/network/proxy.h"
#include "sim/nccl/profiler/channel_op.h"
#include "sim/nccl/profiler/profiler.h"

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

static ncclResult_t prepare_one(struct plan *plan)
{
	ncclResult_t result = plan->channel_events ? proxy_need_thread(plan->comm->proxy) : ncclSuccess;

	if (result == ncclSuccess && plan->capture_id)
		result = capture_keep(plan);
	work_count_plan(plan);
	return result == ncclSuccess && plan->host_events ? capture_enqueue_callback(plan) : result;
}

/* The plans that the calls become, and what their kernels wait for. */
static ncclResult_t prepare(struct plan *plan)
{
	ncclResult_t result = split_plan(plan);

	if (result == ncclSuccess && plan_is_empty(plan))
		return ncclSuccess;
	if (result == ncclSuccess)
		result = capture_look(plan);
	if (result == ncclSuccess)
		result = plan->capture_id ? capture_prepare(plan) : order_streams(plan);
	for (; plan && result == ncclSuccess; plan = plan->more)
		result = prepare_one(plan);
	return result;
}

static uint32_t channels_of(const struct task *task)
{
	uint32_t mask = 0;

	for (; task; task = task->next)
		for (int part = 0; part < task->channels; part++)
			mask |= 1u << (task->first_channel + part) % PLAN_CHANNELS_MAX;
	return mask;
}

/* A block runs each. */
static uint32_t plan_channels(const struct plan *plan)
{
	uint32_t mask = channels_of(plan->collectives) | channels_of(plan->p2p);

	return mask ? (uint32_t)__builtin_popcount(mask) : 1;
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
	work_count_hand_over(plan);
	if (plan->channel_events)
		proxy_need_queue(plan->comm->proxy);
	struct posting posting = { .ops = plan->channel_events ? channel_ops_of(plan) : NULL };
	ncclResult_t result = network_plan(plan, &posting.transfers);

	if (result != ncclSuccess)
		comm_set_async_error(plan->comm, result);
	if (!posting.ops && !posting.transfers)
		return;
	if (proxy_need_thread(plan->comm->proxy) != ncclSuccess)
		comm_set_async_error(plan->comm, ncclSystemError);
	proxy_post(plan->comm->proxy, posting);
}

static ncclResult_t launch(struct plan *plan)
{
	profiler_launch_start(plan);
	ncclResult_t result = launch_kernel(plan);
	profiler_launch_stop(plan);
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

static ncclResult_t with_context(struct plan *plan, ncclResult_t (*step)(struct plan *plan))
{
	ncclResult_t result = DRIVER(cuCtxPushCurrent, plan->comm->context);

	if (result != ncclSuccess)
		return result;
	result = step(plan);
	driver.cuCtxPopCurrent(NULL);
	return result;
}

/* The members of a clique stand next to each other. */
static bool is_member(const struct plan *plan, const struct plan *head)
{
	return plan && (plan == head || (head->comm->clique && plan->comm->clique == head->comm->clique));
}

static ncclResult_t prepare_clique(struct plan *head)
{
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = head; is_member(plan, head) && result == ncclSuccess; plan = plan->next) {
		result = with_context(plan, prepare);
		plan->unlaunched = plan_is_empty(plan) ? NULL : plan;
		clique_arrive(plan->comm, plan->unlaunched);
	}
	return result;
}

/* The next round may begin before the plugin has heard of this one. */
static ncclResult_t launch_next(struct plan *first)
{
	struct plan *plan = first->unlaunched;
	ncclResult_t result = ncclSuccess;

	if (plan) {
		first->unlaunched = plan->more;
		result = with_context(plan, launch);
	}
	if (result != ncclSuccess)
		return result;
	clique_arrive(first->comm, first->unlaunched);
	if (plan && !plan->host_events)
		profiler_plan_events(plan, launch_hand_to_proxy);
	return result;
}

/* Whether any of the clique has a plan left; with NCCL_LAUNCH_MODE=GROUP also of its members elsewhere. */
static ncclResult_t more_rounds(const struct plan *head, bool *more)
{
	*more = false;
	for (const struct plan *plan = head; is_member(plan, head); plan = plan->next) {
		*more |= plan->unlaunched != NULL;
		if (!clique_wait(plan->comm, more))
			return ncclInternalError;
	}
	return ncclSuccess;
}

static ncclResult_t launch_round(struct plan *head)
{
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = head; is_member(plan, head) && result == ncclSuccess; plan = plan->next)
		result = launch_next(plan);
	return result;
}

static ncclResult_t finish_clique(struct plan *head)
{
	ncclResult_t result = ncclSuccess;

	for (struct plan *plan = head; is_member(plan, head) && result == ncclSuccess; plan = plan->next) {
		if (!plan_is_empty(plan))
			result = with_context(plan, finish);
	}
	return result;
}

/* In rounds, each of which launches one plan of every member. */
static ncclResult_t launch_clique(struct plan *head)
{
	ncclResult_t result = prepare_clique(head);
	bool more = true;

	while (result == ncclSuccess) {
		result = more_rounds(head, &more);
		if (result != ncclSuccess || !more)
			break;
		result = launch_round(head);
	}
	return result == ncclSuccess ? finish_clique(head) : result;
}

/* In NCCL's order: all are connected, then one clique is done with before the next one begins. */
static ncclResult_t launch_all(struct plan *plans)
{
	ncclResult_t result = connect_plans(plans);

	while (plans && result == ncclSuccess) {
		struct plan *head = plans;
		result = launch_clique(head);
		while (is_member(plans, head))
			plans = plans->next;
	}
	return result;
}

static void drop_all(struct plan *plan)
{
	while (plan) {
		struct plan *more = plan->more;
		plan_drop(plan);
		plan = more;
	}
}

/* An abort on another thread waits until this one has left the communicators. */
ncclResult_t launch_plans(struct plan *plans)
{
	for (struct plan *plan = plans; plan; plan = plan->next)
		comm_plan_started(plan->comm);
	ncclResult_t result = launch_all(plans);

	while (plans) {
		struct plan *next = plans->next;
		struct ncclComm *comm = plans->comm;
		drop_all(plans);
		comm_plan_done(comm);
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
		result = with_context(plan, launch_quietly);
	plan_drop(plan);
	return result;
}
