/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/work_count.h"

#include <stdlib.h>

#include "sim/nccl/launch/schedule.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/release.h"

enum { WORK_NOTES = 64 };

struct work_note {
	_Atomic uint64_t number, ns;
};

/* By channel. */
struct work_count {
	_Atomic uint64_t host[PLAN_CHANNELS_MAX];
	uint64_t device[PLAN_CHANNELS_MAX]; /* the stream thread of the running plan owns it */
	struct work_note began[PLAN_CHANNELS_MAX][WORK_NOTES], ended[PLAN_CHANNELS_MAX][WORK_NOTES];
	_Atomic bool latest_captured; /* what NCCL's planner remembers of the communicator's latest group */
};

struct work_count *work_count_new(void)
{
	return calloc(1, sizeof(struct work_count));
}

/* One work on one channel; of a send and a receive that share it, both. */
typedef void visit_work(struct work_count *count, int channel, int part, struct task *first, struct task *second,
			uint64_t ns);

static int channel_of(const struct task *task, int part)
{
	return (task->first_channel + part) % PLAN_CHANNELS_MAX;
}

/* Symmetric kernels have counters of their own, and copies no kernel. */
static bool is_counted(const struct task *task, int part)
{
	return task && task->kind == TASK_CLASSIC && !task_is_own(task) && part < task->channels;
}

static void visit_all(struct plan *plan, visit_work *visit, uint64_t ns)
{
	struct work_count *count = plan->comm->works;

	for (struct task *task = plan->collectives; task; task = task->next)
		for (int part = 0; is_counted(task, part); part++)
			visit(count, channel_of(task, part), part, task, NULL, ns);
	for (struct task *task = plan->p2p; task;) {
		struct work work = schedule_next_work(&task);
		for (int part = 0; part < PLAN_CHANNELS_MAX; part++) {
			struct task *receive = is_counted(work.receive, part) ? work.receive : NULL;
			struct task *send = is_counted(work.send, part) ? work.send : NULL;
			if (receive || send)
				visit(count, channel_of(receive ? receive : send, part), part, receive, send, ns);
		}
	}
}

/* The work's profilerEnabled bit. */
static bool is_watched(const struct task *first, const struct task *second)
{
	return (first && profiler_wants_channels(first)) || (second && profiler_wants_channels(second));
}

static void count_one(struct work_count *count, int channel, int part, struct task *first, struct task *second,
		      uint64_t ns)
{
	uint64_t number = atomic_fetch_add(&count->host[channel], 1) + 1;

	(void)ns;
	if (first)
		first->works[part] = number;
	if (second)
		second->works[part] = number;
}

static void count_watched(struct work_count *count, int channel, int part, struct task *first, struct task *second,
			  uint64_t ns)
{
	if (is_watched(first, second))
		count_one(count, channel, part, first, second, ns);
}

/* What the scheduler of AllGatherV plans has no operation for profilers. */
static void count_eager(struct work_count *count, int channel, int part, struct task *first, struct task *second,
			uint64_t ns)
{
	if (!first || !first->gathered)
		count_one(count, channel, part, first, second, ns);
}

/* What nobody watches is counted when it is planned, and its replays are not. */
static void count_captured(struct work_count *count, int channel, int part, struct task *first, struct task *second,
			   uint64_t ns)
{
	if (!is_watched(first, second))
		count_eager(count, channel, part, first, second, ns);
}

void work_count_plan(struct plan *plan)
{
	atomic_store(&plan->comm->works->latest_captured, plan->capture_id != 0);
	if (!release()->counts_each_run)
		visit_all(plan, plan->capture_id ? count_captured : count_eager, 0);
}

/* SaveProxyProfiler() of 2.27 to 2.30 asks what the communicator's latest group was, not what this plan is. */
void work_count_hand_over(struct plan *plan)
{
	bool counts = plan->capture_id && atomic_load(&plan->comm->works->latest_captured);

	if (plan->channel_events && (counts || release()->counts_each_run))
		visit_all(plan, count_watched, 0);
}

static void note(struct work_note *notes, uint64_t number, uint64_t ns)
{
	struct work_note *at = &notes[number % WORK_NOTES];

	atomic_store(&at->ns, ns);
	atomic_store(&at->number, number);
}

static void begin_one(struct work_count *count, int channel, int part, struct task *first, struct task *second,
		      uint64_t ns)
{
	uint64_t number = ++count->device[channel];

	(void)part;
	if (is_watched(first, second))
		note(count->began[channel], number, ns);
}

static void rewind_one(struct work_count *count, int channel, int part, struct task *first, struct task *second,
		       uint64_t ns)
{
	(void)part, (void)first, (void)second, (void)ns;
	count->device[channel]--;
}

static void end_one(struct work_count *count, int channel, int part, struct task *first, struct task *second,
		    uint64_t ns)
{
	uint64_t number = ++count->device[channel];

	(void)part;
	if (is_watched(first, second))
		note(count->ended[channel], number, ns);
}

void work_count_begin(struct plan *plan, uint64_t ns)
{
	visit_all(plan, begin_one, ns);
}

void work_count_end(struct plan *plan, uint64_t ns)
{
	visit_all(plan, rewind_one, ns);
	visit_all(plan, end_one, ns);
}

static bool is_reached(const struct work_note *notes, uint64_t number, uint64_t *ns)
{
	const struct work_note *at = &notes[number % WORK_NOTES];
	bool reached = number <= atomic_load(&at->number);

	*ns = atomic_load(&at->ns);
	return reached;
}

bool work_count_has_begun(const struct task *task, int part, uint64_t *ns)
{
	return is_reached(task->comm->works->began[channel_of(task, part)], task->works[part], ns);
}

bool work_count_has_ended(const struct task *task, int part, uint64_t *ns)
{
	return is_reached(task->comm->works->ended[channel_of(task, part)], task->works[part], ns);
}
