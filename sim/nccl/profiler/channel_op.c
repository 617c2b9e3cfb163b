/* SPDX-License-Identifier: MIT */
#include "sim/nccl/profiler/channel_op.h"

#include <stdlib.h>

#include "sim/nccl/launch/schedule.h"
#include "sim/nccl/launch/work_count.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/quirk.h"
#include "sim/nccl/release.h"

struct channel_slot {
	struct channel_slot *next;
	void *handle; /* the plugin's; also of whoever had the slot before */
};

struct channel_ops {
	struct channel_op *active;
	struct channel_op
	    *newest[2][PLAN_CHANNELS_MAX]; /* of each connection: in the list, or the last behind that one */
	struct channel_slot *free_slots;
};

/* Not always as many as were announced. Of what a rank sends to itself no channel hears, whatever P2p says. */
static uint8_t channels_of(const struct task *task)
{
	bool fewer = quirk_is_on(QUIRK_FEWER_CHANNELS) && task_is_p2p(task);

	if (task_is_own(task) || !profiler_wants_channels(task))
		return 0;
	return fewer ? task->channels / 2 : task->channels;
}

static bool any_wants(const struct task *task)
{
	while (task && !channels_of(task))
		task = task->next;
	return task;
}

bool channel_ops_are_wanted(const struct plan *plan)
{
	return any_wants(plan->collectives) || any_wants(plan->p2p);
}

/* A list that is being made, in order. */
struct making {
	struct channel_op *list;
	struct plan *plan;
	bool failed;
};

static bool comes_before(const struct channel_op *a, const struct channel_op *b)
{
	return a->order < b->order || (a->order == b->order && a->channel <= b->channel);
}

static void insert(struct making *making, struct channel_op *op)
{
	struct channel_op **at = &making->list;

	while (*at && comes_before(*at, op))
		at = &(*at)->next;
	op->next = *at;
	*at = op;
	atomic_fetch_add(&op->plan->references, 1);
}

static void make(struct making *making, struct task *task, int part, unsigned int order)
{
	struct channel_op *op = part < channels_of(task) ? calloc(1, sizeof(*op)) : NULL;

	if (!op) {
		making->failed |= part < channels_of(task);
		return;
	}
	op->plan = making->plan;
	op->task = task;
	op->channel = (uint8_t)((task->first_channel + part) % PLAN_CHANNELS_MAX);
	op->part = part;
	op->receives = task->function == FUNCTION_RECV;
	op->order = order;
	insert(making, op);
}

/* Of one work the receive comes first, on every channel that both have. */
static void make_work(struct making *making, struct work work, unsigned int collectives)
{
	for (int part = 0; part < PLAN_CHANNELS_MAX; part++) {
		if (work.receive)
			make(making, work.receive, part, collectives + work.receive->batches[part]);
		if (work.send)
			make(making, work.send, part, collectives + work.send->batches[part]);
	}
}

struct channel_op *channel_ops_of(struct plan *plan)
{
	struct making making = { .plan = plan };
	unsigned int order = 0;

	for (struct task *task = plan->collectives; task; task = task->next, order++) {
		for (int part = 0; part < task->channels; part++)
			make(&making, task, part, order);
	}
	for (struct task *task = plan->p2p; task;)
		make_work(&making, schedule_next_work(&task), order);
	if (!making.failed)
		return making.list;
	channel_ops_drop(making.list);
	return NULL;
}

static void drop(struct channel_op *op)
{
	plan_drop(op->plan);
	free(op);
}

void channel_ops_drop(struct channel_op *list)
{
	while (list) {
		struct channel_op *next = list->next;
		drop(list);
		list = next;
	}
}

struct channel_ops *channel_ops_new(void)
{
	return calloc(1, sizeof(struct channel_ops));
}

bool channel_ops_are_active(const struct channel_ops *ops)
{
	return ops->active;
}

static struct channel_slot *take_slot(struct channel_ops *ops)
{
	struct channel_slot *slot = ops->free_slots;

	if (!slot)
		return calloc(1, sizeof(*slot));
	ops->free_slots = slot->next;
	return slot;
}

void channel_ops_add(struct channel_ops *ops, struct channel_op *op)
{
	struct channel_op **newest = &ops->newest[op->receives][op->channel], **at = &ops->active;

	op->slot = take_slot(ops);
	op->next = op->behind = NULL;
	if (!op->slot) {
		drop(op);
		return;
	}
	if (*newest) {
		(*newest)->behind = op;
	} else {
		while (*at)
			at = &(*at)->next;
		*at = op;
	}
	*newest = op;
}

/* Without times in its events NCCL counts differently, and nothing shows. */
static bool is_found_by_number(const struct channel_op *op)
{
	return op->task->kind == TASK_CLASSIC && release()->channel_times;
}

static bool has_begun(const struct channel_op *op, uint64_t *ns)
{
	if (is_found_by_number(op))
		return work_count_has_begun(op->task, op->part, ns);
	*ns = atomic_load(&op->plan->start_ns);
	return *ns;
}

static bool has_ended(const struct channel_op *op, uint64_t *ns)
{
	if (is_found_by_number(op))
		return work_count_has_ended(op->task, op->part, ns);
	*ns = atomic_load(&op->plan->stop_ns);
	return *ns;
}

/* True: it has reported all. The kernel's end is looked for in the turn after its start. */
static bool report(struct channel_op *op, bool *reported)
{
	uint64_t start_ns, stop_ns;
	bool begun = has_begun(op, &start_ns);

	if (begun && !op->started) {
		profiler_channel_start(op->task, op->channel, &op->slot->handle, start_ns);
		return !(op->started = *reported = true);
	}
	if (!has_ended(op, &stop_ns))
		return false;
	profiler_channel_stop(op->task, op->channel, op->slot->handle, start_ns, stop_ns);
	return *reported = true;
}

/* Whatever is behind it takes its place, and is looked at in the next turn. */
static struct channel_op **replace(struct channel_ops *ops, struct channel_op **at)
{
	struct channel_op *op = *at, *heir = op->behind;

	*at = heir ? heir : op->next;
	if (heir)
		heir->next = op->next;
	else
		ops->newest[op->receives][op->channel] = NULL;
	op->slot->next = ops->free_slots;
	ops->free_slots = op->slot;
	drop(op);
	return heir ? &heir->next : at;
}

bool channel_ops_advance(struct channel_ops *ops)
{
	struct channel_op **at = &ops->active;
	bool reported = false;

	while (*at)
		at = report(*at, &reported) ? replace(ops, at) : &(*at)->next;
	return reported;
}

void channel_ops_free(struct channel_ops *ops)
{
	if (!ops)
		return;
	while (ops->active)
		replace(ops, &ops->active);
	while (ops->free_slots) {
		struct channel_slot *slot = ops->free_slots;
		ops->free_slots = slot->next;
		free(slot);
	}
	free(ops);
}
