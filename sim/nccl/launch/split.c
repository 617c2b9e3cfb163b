/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/split.h"

#include <string.h>

#include "sim/nccl/launch/schedule.h"
#include "sim/nccl/launch/spread.h"
#include "sim/nccl/profiler/channel_op.h"
#include "sim/nccl/profiler/profiler.h"

/* Of NCCL 2.28.9 on x86-64, with the default sizes. */
#define ARGUMENT_BYTES      (4096 - 32) /* of a kernel, without their head */
#define BUFFER_BYTES        (512 << 10)
#define BATCH_BYTES         16 /* what a channel takes for works that it runs together */
#define COLLECTIVE_BYTES    96 /* of one work */
#define PAIR_BYTES          48
#define BATCH_WORKS_BYTES   1024
#define BATCH_PAIRS         8
#define COLLECTIVES_A_BATCH 4 /* the guess by which NCCL counts how many fit */

/* What the plan that is being filled has already. */
struct filling {
	int batches;
	int bytes;
	int collectives;
	struct {
		const struct task *last; /* of its newest batch */
		int bytes, pairs;
		int rounds[BATCH_PAIRS];
		uint16_t p2p_batches;
	} channels[PLAN_CHANNELS_MAX];
};

static bool fits(int batches, int bytes)
{
	int arguments = batches * BATCH_BYTES;

	return arguments + bytes <= ARGUMENT_BYTES || (arguments <= ARGUMENT_BYTES && bytes <= BUFFER_BYTES);
}

/* Works of the same code share a batch; of sends and receives each round once, and only those of eight rounds. */
static bool is_new_batch(const struct filling *filling, int channel, const struct task *task, int bytes)
{
	const struct task *last = filling->channels[channel].last;

	if (!last || task_is_p2p(last) != task_is_p2p(task) ||
	    filling->channels[channel].bytes + bytes > BATCH_WORKS_BYTES)
		return true;
	if (!task_is_p2p(task))
		return !schedule_same_kind(last, task);
	for (int i = 0; i < filling->channels[channel].pairs; i++) {
		int round = filling->channels[channel].rounds[i];
		if (round == task->round || round / BATCH_PAIRS != task->round / BATCH_PAIRS)
			return true;
	}
	return filling->channels[channel].pairs == BATCH_PAIRS;
}

static void begin_batch(struct filling *filling, int channel, const struct task *task)
{
	filling->batches++;
	filling->channels[channel].bytes = filling->channels[channel].pairs = 0;
	filling->channels[channel].p2p_batches += task_is_p2p(task);
}

static void add_work(struct filling *filling, struct task *task, int channels, int bytes)
{
	for (int i = 0; i < channels; i++) {
		int channel = (task->first_channel + i) % PLAN_CHANNELS_MAX;
		if (is_new_batch(filling, channel, task, bytes))
			begin_batch(filling, channel, task);
		filling->channels[channel].last = task;
		filling->channels[channel].bytes += bytes;
		if (!task_is_p2p(task))
			continue;
		filling->channels[channel].rounds[filling->channels[channel].pairs++] = task->round;
		task->batches[i] = filling->channels[channel].p2p_batches;
	}
	filling->bytes += bytes;
}

static void add_pair(struct filling *filling, struct work work)
{
	struct task *wider = work.receive, *other = work.send;

	if (!wider || (other && other->channels > wider->channels)) {
		wider = work.send;
		other = work.receive;
	}
	add_work(filling, wider, wider->channels, PAIR_BYTES);
	if (other)
		memcpy(other->batches, wider->batches, sizeof(other->batches));
}

/* One more than so many collectives, before their channels are known. */
static bool may_fit(int collectives)
{
	int guess = (collectives + COLLECTIVES_A_BATCH - 1) / COLLECTIVES_A_BATCH;

	return fits(guess, (collectives + 1) * COLLECTIVE_BYTES);
}

static bool collective_fits(const struct filling *filling, const struct task *task)
{
	return may_fit(filling->collectives) &&
	       fits(filling->batches + task->channels, filling->bytes + COLLECTIVE_BYTES);
}

struct splitting {
	struct plan *plan; /* the newest */
	struct filling filling;
};

static struct task *take_first(struct task **list)
{
	struct task *task = *list;

	*list = task->next;
	return task;
}

static ncclResult_t begin_plan(struct splitting *splitting)
{
	memset(&splitting->filling, 0, sizeof(splitting->filling));
	if (plan_is_empty(splitting->plan))
		return ncclSuccess;
	splitting->plan->more = plan_beside(splitting->plan);
	splitting->plan = splitting->plan->more ? splitting->plan->more : splitting->plan;
	return plan_is_empty(splitting->plan) ? ncclSuccess : ncclSystemError;
}

/* One by one, or those together that one symmetric kernel does. */
static ncclResult_t set_apart(struct splitting *splitting, struct task **list, enum task_kind kind)
{
	const struct task *last = NULL;
	ncclResult_t result = ncclSuccess;

	while (*list && result == ncclSuccess) {
		if ((*list)->kind != kind) {
			list = &(*list)->next;
			continue;
		}
		struct task *task = take_first(list);
		if (!last || kind == TASK_COPY_ENGINE || !schedule_same_kind(last, task))
			result = begin_plan(splitting);
		plan_append(splitting->plan, task);
		last = task;
	}
	return result;
}

/* Over those of the list that may be in one plan. */
static struct spread spread_first(const struct task *list)
{
	int count = 0;

	for (const struct task *task = list; task && may_fit(count); task = task->next)
		count++;
	return spread_over(list, count);
}

static ncclResult_t split_collectives(struct splitting *splitting, struct task **list)
{
	ncclResult_t result = *list ? begin_plan(splitting) : ncclSuccess;
	struct spread spread = spread_first(*list);

	while (*list && result == ncclSuccess) {
		if (!collective_fits(&splitting->filling, *list)) {
			result = begin_plan(splitting);
			spread = spread_first(*list);
		}
		struct task *task = take_first(list);
		spread_place(&spread, task);
		add_work(&splitting->filling, task, task->channels, COLLECTIVE_BYTES);
		splitting->filling.collectives++;
		plan_append(splitting->plan, task);
	}
	return result;
}

/* They go on where the collectives ended. */
static ncclResult_t split_p2p(struct splitting *splitting, struct task **list, bool behind)
{
	ncclResult_t result = *list && !behind ? begin_plan(splitting) : ncclSuccess;

	while (*list && result == ncclSuccess) {
		struct work work = schedule_next_work(list);
		if (!fits(splitting->filling.batches + PLAN_CHANNELS_MAX, splitting->filling.bytes + PAIR_BYTES))
			result = begin_plan(splitting);
		add_pair(&splitting->filling, work);
		if (work.send)
			plan_append(splitting->plan, work.send);
		if (work.receive)
			plan_append(splitting->plan, work.receive);
	}
	return result;
}

/* All lists are taken out of the plan first, and what is left of them put back. */
static ncclResult_t split_lists(struct plan *plan, struct task **collectives, struct task **p2p)
{
	struct splitting splitting = { .plan = plan };
	ncclResult_t result = set_apart(&splitting, collectives, TASK_COPY_ENGINE);

	schedule_collectives(collectives);
	if (result == ncclSuccess)
		result = set_apart(&splitting, collectives, TASK_SYMMETRIC);
	bool classic = *collectives;
	if (result == ncclSuccess)
		result = split_collectives(&splitting, collectives);
	if (result == ncclSuccess)
		result = schedule_p2p(plan->comm, p2p);
	return result == ncclSuccess ? split_p2p(&splitting, p2p, classic) : result;
}

static bool has_several_roots(const struct task *task)
{
	const struct task *first = NULL;

	for (; task; task = task->next) {
		if (task->function != FUNCTION_BROADCAST)
			continue;
		if (first && first->root_or_peer != task->root_or_peer)
			return true;
		first = task;
	}
	return false;
}

/* Broadcasts of one root become a collective task each; those of several roots, one AllGatherV. */
static void gather_broadcasts(struct task *task)
{
	bool gathers = profiler_hides_broadcasts() && has_several_roots(task);

	for (; task; task = task->next)
		task->gathered = gathers && task->function == FUNCTION_BROADCAST;
}

static void put_back(struct plan *plan, struct task *list)
{
	while (list) {
		struct task *next = list->next;
		plan_append(plan, list);
		list = next;
	}
}

ncclResult_t split_plan(struct plan *plan)
{
	struct task *collectives = plan->collectives, *p2p = plan->p2p;

	gather_broadcasts(collectives);
	plan->collectives = plan->p2p = NULL;
	ncclResult_t result = split_lists(plan, &collectives, &p2p);
	put_back(plan, collectives);
	put_back(plan, p2p);
	for (; plan; plan = plan->more)
		plan->channel_events = channel_ops_are_wanted(plan);
	return result;
}
