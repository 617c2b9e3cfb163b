/* SPDX-License-Identifier: MIT */
/* KernelCh, and below it KernelPhase: what the progress thread says of a running kernel. */
#include "profiler.h"

#include <stdlib.h>

#include "profiler_call.h"
#include "quirk.h"
#include "release.h"

bool profiler_wants_channels(const struct task *task)
{
	return profiler_is_loaded() && task->event_mask & release()->masks->kernel_ch;
}

/* Not always as many as were announced. */
static uint8_t channels_of(const struct task *task)
{
	bool fewer = quirk_is_on(QUIRK_FEWER_CHANNELS) && task_is_p2p(task);

	return fewer ? task->channels / 2 : task->channels;
}

/* NCCL uses its slots for operations again, and never clears the handle of the one before. */
static void leave_stale(const struct task *task)
{
	struct ncclComm *comm = task->comm;

	if (!quirk_is_on(QUIRK_STALE_KERNELCH) && !quirk_is_on(QUIRK_EARLY_KERNELCH))
		return;
	if (!comm->stale_channels)
		comm->stale_channels = calloc(PLAN_CHANNELS_MAX, sizeof(*comm->stale_channels));
	for (uint8_t channel = 0; comm->stale_channels && channel < channels_of(task); channel++)
		comm->stale_channels[channel] = task->channel_handles[channel];
}

static void stop_stale(const struct task *task, uint8_t channel, uint64_t stop_ns)
{
	struct profiler_state_args args = { .timer = stop_ns };

	if (!task->comm->stale_channels)
		return;
	profiler_record(task->comm->stale_channels[channel], STATE_KERNEL_CH_STOP, &args);
	profiler_stop(task->comm->stale_channels[channel]);
}

static void task_start(struct task *task, uint64_t start_ns)
{
	if (!profiler_wants_channels(task))
		return;
	task->channel_handles = calloc(task->channels, sizeof(*task->channel_handles));
	for (uint8_t channel = 0; task->channel_handles && channel < channels_of(task); channel++) {
		stop_stale(task, channel, start_ns);
		struct event event = { .v7 = {
					   .type = EVENT_KERNEL_CH,
					   .parent = task->handle,
					   .kernel_ch = { channel, start_ns },
				       } };
		profiler_start(task->comm, &task->channel_handles[channel], &event);
	}
}

/* Three of a symmetric kernel's; the stand-in's one time span is divided among them. */
static void phases(const struct task *task, uint8_t channel, uint64_t start_ns, uint64_t stop_ns)
{
	static const char *const names[] = { "initial_sync", "compute", "final_sync" };
	uint64_t starts[] = { start_ns, start_ns, stop_ns }, stops[] = { start_ns, stop_ns, stop_ns };

	for (uint8_t phase = 0; phase < sizeof(names) / sizeof(*names); phase++) {
		struct event event = { .v7 = {
					   .type = EVENT_KERNEL_PHASE,
					   .parent = task->channel_handles[channel],
					   .kernel_phase = { channel, phase, names[phase], starts[phase] },
				       } };
		struct profiler_state_args args = { .timer = stops[phase] };
		void *handle = NULL;
		profiler_start(task->comm, &handle, &event);
		profiler_record(handle, STATE_KERNEL_PHASE_STOP, &args);
		profiler_stop(handle);
	}
}

static void task_stop(const struct task *task, uint64_t start_ns, uint64_t stop_ns)
{
	struct profiler_state_args args = { .timer = stop_ns };
	bool has_phases = task->kind == TASK_SYMMETRIC && task->event_mask & release()->masks->kernel_phase;

	if (!task->channel_handles)
		return;
	leave_stale(task);
	if (quirk_is_on(QUIRK_EARLY_KERNELCH))
		return; /* its completion came before its start, and went to the handle of the operation before */
	for (uint8_t channel = 0; channel < channels_of(task); channel++) {
		if (has_phases)
			phases(task, channel, start_ns, stop_ns);
		if (release()->channel_times)
			profiler_record(task->channel_handles[channel], STATE_KERNEL_CH_STOP, &args);
		profiler_stop(task->channel_handles[channel]);
	}
}

void profiler_channels_start(struct plan *plan, uint64_t start_ns)
{
	for (struct task *task = plan->collectives; task; task = task->next)
		task_start(task, start_ns);
	for (struct task *task = plan->p2p; task; task = task->next)
		task_start(task, start_ns);
}

void profiler_channels_stop(struct plan *plan, uint64_t stop_ns)
{
	uint64_t start_ns = atomic_load(&plan->start_ns);

	for (struct task *task = plan->collectives; task; task = task->next)
		task_stop(task, start_ns, stop_ns);
	for (struct task *task = plan->p2p; task; task = task->next)
		task_stop(task, start_ns, stop_ns);
}
