/* SPDX-License-Identifier: MIT */
/* KernelCh, and below it KernelPhase: what the progress thread says of a running kernel. */
#include "sim/nccl/profiler/profiler.h"

#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/quirk.h"
#include "sim/nccl/release.h"

bool profiler_wants_channels(const struct task *task)
{
	return profiler_is_loaded() && task->event_mask & release()->masks->kernel_ch;
}

/* NCCL uses its slots for operations again, and never clears the handle of the one before. */
static bool has_stale(void)
{
	return quirk_is_on(QUIRK_STALE_KERNELCH) || quirk_is_on(QUIRK_EARLY_KERNELCH);
}

static void stop(void *handle, uint64_t stop_ns)
{
	struct profiler_state_args args = { .timer = stop_ns };

	if (release()->channel_times)
		profiler_record(handle, STATE_KERNEL_CH_STOP, &args);
	profiler_stop(handle);
}

void profiler_channel_start(const struct task *task, uint8_t channel, void **handle, uint64_t start_ns)
{
	struct event event = { .v7 = {
				   .type = EVENT_KERNEL_CH,
				   .parent = task->handle,
				   .kernel_ch = { channel, start_ns },
			       } };

	if (has_stale())
		stop(*handle, start_ns);
	profiler_start(task->comm, handle, &event);
}

/* Three of a symmetric kernel's; the stand-in's one time span is divided among them. */
static void phases(const struct task *task, uint8_t channel, void *parent, uint64_t start_ns, uint64_t stop_ns)
{
	static const char *const names[] = { "initial_sync", "compute", "final_sync" };
	uint64_t starts[] = { start_ns, start_ns, stop_ns }, stops[] = { start_ns, stop_ns, stop_ns };

	for (uint8_t phase = 0; phase < sizeof(names) / sizeof(*names); phase++) {
		struct event event = { .v7 = {
					   .type = EVENT_KERNEL_PHASE,
					   .parent = parent,
					   .kernel_phase = { channel, phase, names[phase], starts[phase] },
				       } };
		struct profiler_state_args args = { .timer = stops[phase] };
		void *handle = NULL;
		profiler_start(task->comm, &handle, &event);
		profiler_record(handle, STATE_KERNEL_PHASE_STOP, &args);
		profiler_stop(handle);
	}
}

void profiler_channel_stop(const struct task *task, uint8_t channel, void *handle, uint64_t start_ns, uint64_t stop_ns)
{
	if (quirk_is_on(QUIRK_EARLY_KERNELCH))
		return; /* its completion came before its start, and went to the handle of the operation before */
	if (task->kind == TASK_SYMMETRIC && task->event_mask & release()->masks->kernel_phase)
		phases(task, channel, handle, start_ns, stop_ns);
	stop(handle, stop_ns);
}
