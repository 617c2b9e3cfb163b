/* SPDX-License-Identifier: MIT */
#include "plugin/operations/launch.h"

void launch_follow_begin(struct recording *recording, struct communicator *communicator, struct operation_launch *launch,
			 bool may_capture)
{
	uint64_t number = atomic_load_explicit(&communicator->numbered, memory_order_relaxed) + 1;

	launch->begin_ns = clock_ns();
	/* A launch that the GPU will not report must not count as unfinished. */
	if (!progress_begin(&recording->progress, &communicator->counters, launch->stream, number, may_capture))
		return;
	launch->progress = number;
	launch_count(communicator, number);
}

void launch_follow_end(struct recording *recording, struct communicator *communicator, struct operation_launch *launch)
{
	if (progress_end(&recording->progress, &communicator->counters, launch->stream, launch->progress)) {
		atomic_store_explicit(&communicator->finishing, launch->progress, memory_order_relaxed);
		return;
	}
	/* Nor must one whose end could not be written. Its number is not given again: the counter of starts holds it. */
	launch->progress = 0;
	atomic_store_explicit(&communicator->entry->launched,
			      atomic_load_explicit(&communicator->finishing, memory_order_relaxed),
			      memory_order_relaxed);
}
