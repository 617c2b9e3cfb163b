/* SPDX-License-Identifier: MIT */
/* KernelLaunch, Group, Coll and P2p: what the launching thread says of a plan. */
#include "sim/nccl/profiler/profiler.h"

#include "sim/nccl/data/number.h"
#include "sim/nccl/launch/protocol.h"
#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/profiler/profiler_ce.h"
#include "sim/nccl/release.h"

#define WARPS            16
#define SYMMETRIC_KERNEL "AGxLL_R" /* one of NCCL's; the stand-in has none */

/* NCCL takes mask and parent from the first task that has a mask. NULL: nobody listens to this plan. */
static const struct task *first_heard(const struct plan *plan)
{
	const struct task *task = plan->collectives;

	while (task && !task->event_mask)
		task = task->next;
	if (task)
		return task;
	task = plan->p2p;
	while (task && !task->event_mask)
		task = task->next;
	return task;
}

void profiler_launch_start(struct plan *plan)
{
	const struct task *first = first_heard(plan);

	if (first && first->event_mask & release()->masks->kernel_launch) {
		struct event event = { .v7 = { .type = EVENT_KERNEL_LAUNCH,
					       .parent = first->group_api_handle,
					       .kernel_launch.stream = plan_launch_stream(plan) } };
		profiler_start(plan->comm, &plan->launch_handle, &event);
	}
	profiler_ce_start(plan);
}

void profiler_launch_stop(struct plan *plan)
{
	profiler_ce_stop(plan);
	profiler_stop(plan->launch_handle);
}

static void read_mask(struct plan *plan)
{
	int mask = profiler_mask();

	for (struct task *task = plan->collectives; task; task = task->next)
		task->event_mask = mask;
	for (struct task *task = plan->p2p; task; task = task->next)
		task->event_mask = mask;
}

static void group_start(struct plan *plan)
{
	const struct task *first = first_heard(plan);
	struct event event = { .v7.type = EVENT_GROUP };

	if (first && first->event_mask & release()->masks->group)
		profiler_start(plan->comm, &plan->group_handle, &event);
}

/* All replays of a captured plan show one number, unless the progress thread knows of them. */
static bool is_counted(const struct plan *plan, const struct task *task, bool heard)
{
	if (plan->capture_id && !plan->channel_events)
		return false;
	if (!release()->counts_unheard)
		return heard;
	if (task->kind != TASK_CLASSIC)
		return task->kind == TASK_SYMMETRIC && release()->symmetric == EVENTS_WHOLE;
	return !task->gathered;
}

static bool is_below_group(const struct plan *plan, const struct task *task, int bits)
{
	return profiler_is_loaded() && task->event_mask & bits && (plan->group_handle || !release()->skips_orphans);
}

/* Without a kernel of its own a collective has a protocol; a symmetric one has a kernel's name instead. */
static void set_algorithm(const struct task *task, struct event_v7 *event)
{
	bool symmetric = task->kind == TASK_SYMMETRIC;

	event->coll.algorithm = symmetric ? SYMMETRIC_KERNEL : "RING";
	event->coll.protocol = symmetric ? "" : protocol_is_simple(task) ? "SIMPLE" : "LL";
	event->coll.symmetric = symmetric;
	event->coll.kernel_variant = symmetric ? SYMMETRIC_KERNEL : NULL;
}

/* AllGather and Broadcast move bytes, and say so. */
static void coll_start(const struct plan *plan, struct task *task)
{
	struct ncclComm *comm = task->comm;
	bool bytes = task->function == FUNCTION_ALLGATHER || task->function == FUNCTION_BROADCAST;
	bool heard = is_below_group(plan, task, release()->masks->coll);
	ncclDataType_t type = bytes ? ncclInt8 : task->type;
	struct event event = {
		.v7 = { .type = EVENT_COLL,
			.parent = task->api_handle,
			.rank = comm->rank,
			.coll = { .sequence = comm->sequences[task->function],
				  .function = function_name(task->function),
				  .send = task->send,
				  .recv = task->recv,
				  .count = bytes ? task->count * number_size(task->type) : task->count,
				  .root = task->root_or_peer,
				  .type = number_name(type),
				  .channels = task->channels,
				  .warps = WARPS,
				  .group = plan->group_handle,
				  .user_tag = task->user_tag } },
		.traffic = task_traffic(task),
		.type_number = type,
		.op = task->op,
	};

	set_algorithm(task, &event.v7);
	if (heard)
		profiler_start(comm, &task->handle, &event);
	comm->sequences[task->function] += is_counted(plan, task, heard);
}

static void p2p_start(const struct plan *plan, struct task *task)
{
	struct event event = {
		.v7 = { .type = EVENT_P2P,
			.parent = task->api_handle,
			.rank = task->comm->rank,
			.p2p = { .function = function_name(task->function),
				 .buffer = task->function == FUNCTION_SEND ? (void *)task->send : task->recv,
				 .type = number_name(task->type),
				 .count = task->count,
				 .peer = task->root_or_peer,
				 .channels = task->channels,
				 .group = plan->group_handle,
				 .user_tag = task->user_tag } },
		.type_number = task->type,
	};

	if (is_below_group(plan, task, release()->masks->p2p))
		profiler_start(task->comm, &task->handle, &event);
}

static void stop_tasks(const struct plan *plan, const struct task *task, int bits)
{
	for (; task; task = task->next) {
		if (release()->stops_null && is_below_group(plan, task, bits))
			profiler_stop_any(task->handle);
		else
			profiler_stop(task->handle);
	}
}

void profiler_plan_events(struct plan *plan, void (*launched)(struct plan *plan))
{
	const struct release_masks *masks = release()->masks;

	if (release()->mask_at_plan)
		read_mask(plan);
	group_start(plan);
	for (struct task *task = plan->collectives; task; task = task->next)
		coll_start(plan, task);
	for (struct task *task = plan->p2p; task; task = task->next)
		p2p_start(plan, task);
	launched(plan);
	stop_tasks(plan, plan->collectives, masks->coll);
	stop_tasks(plan, plan->p2p, masks->p2p);
	profiler_stop(plan->group_handle);
}
