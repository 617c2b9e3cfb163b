/* SPDX-License-Identifier: MIT */
/*
 * A launch of NCCL on its thread, and the two writes of GPU progress around it. It is reported by NCCL's KernelLaunch
 * event, or the interposer takes the time of the call itself for it. Launches of one communicator never overlap.
 */
#ifndef PLUGIN_OPERATIONS_LAUNCH_H
#define PLUGIN_OPERATIONS_LAUNCH_H

#include <stdint.h>

#include "plugin/guest/clock.h"
#include "plugin/recording/recording.h"

struct operation_launch {
	uint64_t begin_ns; /* where the GPU follows; else that of the end */
	uint64_t end_ns;   /* 0 = not yet */
	uint64_t stream;
	uint64_t progress; /* number that the GPU writes, 0 = not followed */
	uint32_t plan;
	uint32_t tid; /* of the thread, 0 = not asked for yet */
};

static inline void launch_count(struct communicator *communicator, uint64_t number)
{
	atomic_store_explicit(&communicator->numbered, number, memory_order_relaxed);
	atomic_store_explicit(&communicator->entry->launched, number, memory_order_relaxed);
}

/* Around a launch of a communicator whose GPU writes progress, its device current: a call of the driver each, and one
 * more where the stream may be captured, for all that the caller knows. begin: fills begin_ns and progress. */
static inline void launch_follow_begin(struct recording *recording, struct communicator *communicator,
				       struct operation_launch *launch, bool may_capture)
{
	uint64_t number = atomic_load_explicit(&communicator->numbered, memory_order_relaxed) + 1;

	launch->begin_ns = clock_ns();
	/* A launch that the GPU will not report must not count as unfinished. */
	if (!progress_begin(&recording->progress, &communicator->counters, launch->stream, number, may_capture))
		return;
	launch->progress = number;
	launch_count(communicator, number);
}

/* The end of a launch whose end could not be written is not waited for. Its number is not given again: the counter of
 * starts holds it. */
void launch_is_not_followed(struct communicator *communicator, struct operation_launch *launch);

static inline void launch_follow_end(struct recording *recording, struct communicator *communicator,
				     struct operation_launch *launch)
{
	if (progress_end(&recording->progress, &communicator->counters, launch->stream, launch->progress))
		atomic_store_explicit(&communicator->finishing, launch->progress, memory_order_relaxed);
	else
		launch_is_not_followed(communicator, launch);
}

/* Do the launches of the group have GPU progress? group 0: not known, as on a thread that has made no call. */
static inline bool launches_are_followed(const struct communicator *communicator, uint32_t group)
{
	return !group || atomic_load_explicit(&communicator->follow_group, memory_order_relaxed) == group;
}

/* Wait-free. tid is not changed. launch_follow_begin() comes next, or launch_count_next() of a communicator without GPU
 * progress; of one whose turn it is not to have any, neither. */
static inline void launch_begin(struct communicator *communicator, struct operation_launch *launch, uint64_t stream)
{
	launch->plan = atomic_fetch_add_explicit(&communicator->plans, 1, memory_order_relaxed) + 1;
	launch->stream = stream;
	launch->begin_ns = 0;
	launch->end_ns = 0;
	launch->progress = 0;
}

/* Of a communicator without GPU progress: the next number. */
static inline void launch_count_next(struct communicator *communicator)
{
	launch_count(communicator, atomic_load_explicit(&communicator->numbered, memory_order_relaxed) + 1);
}

static inline void launch_end(struct recording *recording, struct communicator *communicator,
			      struct operation_launch *launch)
{
	launch->end_ns = clock_ns();
	if (!launch->begin_ns)
		launch->begin_ns = launch->end_ns;
	if (launch->progress)
		launch_follow_end(recording, communicator, launch);
}

/* Instead of the end, where no event reports one. */
static inline void launch_is_over(struct operation_launch *launch)
{
	if (!launch->begin_ns)
		launch->begin_ns = clock_ns();
	launch->end_ns = launch->begin_ns;
}

#endif
