/* SPDX-License-Identifier: MIT */
/* NCCL's KernelCh events: a channel of an operation's kernel starts and stops. */
#include "plugin/cost/cost.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/recorder.h"
#include "plugin/operations/replay.h"
#include "plugin/operations/thread.h"
#include "plugin/recording/recording.h"

/* Three callbacks per channel, all of it in registers. One whose cost is measured comes back to the function that
 * called it, and is not due there. */
static __attribute__((noinline, cold)) void *start_measured(struct recording *recording, const void *context,
							    const void *parent, uint8_t channel, uint64_t raw)
{
	uint64_t begin = clock_ns();
	void *handle = recorder_start_channel(context, parent, channel, raw);

	cost_add(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
	return handle;
}

static void *handle_of(uint64_t ticket, uint8_t channel)
{
	return handle_make(HANDLE_CHANNEL, (uint64_t)channel << HANDLE_CHANNEL_SHIFT | ticket);
}

/* As above: the caller has nothing to keep. */
static __attribute__((noinline)) void *begin_kernel(struct recording *recording, uint64_t ticket, uint8_t channel)
{
	kernel_begin(&recording->box, ticket);
	return handle_of(ticket, channel);
}

static __attribute__((noinline)) void *start_of_replay(const void *context, const void *parent, uint8_t channel,
						       uint64_t raw)
{
	struct recording *recording = handle_kind(parent) == HANDLE_REPLAY ? recording_get() : NULL;

	if (!recording)
		return NULL;
	uint64_t since = cost_begin(&this_thread.calls, &recording->cost_sample);
	void *handle = replay_start_channel(context, parent, channel, raw);
	cost_end(recording_cost(recording, this_thread.launch.tid), since, recording->cost_sample);
	return handle;
}

void *recorder_start_channel(const void *context, const void *parent, uint8_t channel, uint64_t raw)
{
	if (handle_kind(parent) != HANDLE_TASK)
		return start_of_replay(context, parent, channel, raw);
	struct recording *recording = recording_get();
	if (!recording)
		return NULL;
	if (cost_is_due(&this_thread.calls, &recording->cost_sample))
		return start_measured(recording, context, parent, channel, raw);
	uint64_t ticket = handle_number(parent);
	enum kernel_started started = kernel_start(kernel_find(ticket), ticket, context, channel, raw);
	if (started == KERNEL_UNEXPECTED)
		return NULL;
	if (started == KERNEL_FIRST)
		return begin_kernel(recording, ticket, channel);
	return handle_of(ticket, channel);
}

static __attribute__((noinline, cold)) void stop_measured(struct recording *recording, void *handle, uint64_t raw)
{
	uint64_t begin = clock_ns();

	recorder_channel_stop(handle, raw);
	cost_add(recording_cost(recording, this_thread.launch.tid), begin, recording->cost_sample);
}

static __attribute__((noinline)) void stop_of_replay(void *handle, uint64_t raw)
{
	struct recording *recording = handle_kind(handle) == HANDLE_REPLAY_CHANNEL ? recording_get() : NULL;

	if (!recording)
		return;
	uint64_t since = cost_begin(&this_thread.calls, &recording->cost_sample);
	replay_stop_channel(handle, raw);
	cost_end(recording_cost(recording, this_thread.launch.tid), since, recording->cost_sample);
}

void recorder_channel_stop(void *handle, uint64_t raw)
{
	if (handle_kind(handle) != HANDLE_CHANNEL) {
		stop_of_replay(handle, raw);
		return;
	}
	struct recording *recording = recording_get();
	if (!recording)
		return;
	if (cost_is_due(&this_thread.calls, &recording->cost_sample)) {
		stop_measured(recording, handle, raw);
		return;
	}
	uint64_t ticket = (uintptr_t)handle & ((1ull << HANDLE_CHANNEL_SHIFT) - 1);
	uint8_t channel = (uint8_t)((uintptr_t)handle >> HANDLE_CHANNEL_SHIFT);
	kernel_stop(kernel_find(ticket), &recording->box, ticket, channel, raw);
}
